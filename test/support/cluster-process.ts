/** A process of a cluster under test: an engine or a worker, told by its parent what to be. */
import 'reflect-metadata';
import { type EngineOptions, openEngine, openWorker, type WorkerOptions } from '../../lib/cluster';
import { flowsOf } from './cluster-flows-of';

export type Role =
  | { readonly role: 'engine'; readonly options: EngineOptions }
  | { readonly role: 'worker'; readonly options: Omit<WorkerOptions, 'flows'>; readonly without?: readonly string[] };

async function main(told: Role): Promise<void> {
  const all = flowsOf(process.env.HOLDFAST_FLOWS);
  const flows = told.role === 'worker' ? all.filter(({ name }) => !told.without?.includes(name)) : [];
  const node = told.role === 'engine' ? await openEngine(told.options) : await openWorker({ ...told.options, flows });
  process.on('message', (asked) => {
    if (asked !== 'state') return;
    process.send!({ kind: 'state', shards: 'shards' in node ? node.shards : [], isHealthy: node.isHealthy });
  });
  // The parent is gone.
  const orphaned = () => process.exit(1);
  process.on('disconnect', orphaned);
  process.once('SIGTERM', async () => {
    await node.close();
    process.off('disconnect', orphaned);
    process.disconnect();
  });
  process.on('unhandledRejection', (reason) => process.send!({ kind: 'unhandled', reason: String(reason) }));
  process.send!({ kind: 'ready', id: node.id });
}

main(JSON.parse(process.argv[2]!) as Role).catch((error: { code?: string; message: string }) => {
  process.send!({ kind: 'refused', code: error.code, message: error.message }, () => process.exit(1));
});
