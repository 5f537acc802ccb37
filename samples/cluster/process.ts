/** One machine of the sample: `process.ts engine|worker <redis> <store>`. */
import { openEngine, openWorker } from '../../lib/cluster';
import { DepotFlow } from './flows';

async function main([role, redis, store]: string[]): Promise<void> {
  const logger = { debug() {}, info() {}, warn() {}, error: console.error };
  const common = { redis: redis!, shards: 8, namespace: 'sample', logger };
  if (role === 'engine') {
    const engine = await openEngine({ ...common, store: store!, lease: '3s' });
    process.send!({ kind: 'ready' });
    setInterval(() => process.send!({ kind: 'shards', shards: engine.shards }), 250);
  } else {
    await openWorker({ ...common, flows: [DepotFlow], slots: 20 });
    process.send!({ kind: 'ready' });
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
