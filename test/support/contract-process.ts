/** A process of the contract suite: an engine or a worker, as its parent says, for one system after the other. */
import 'reflect-metadata';
import type { FlowClass, Logger } from '../../index';
import { openEngine, openWorker } from '../../lib/cluster';
import { InversifyResolver } from '../../lib/inversify';
import type { Class, HandlerResolver, Resolved, WriteBatch } from '../../lib/ports';
import { openStore } from '../../lib/store/open-store';
import { declaredFlows } from './declared-flows';
import { type ClockState, MovableClock } from './movable-clock';
import { ObservedStore } from './observed-store';
import { type Observation, type ObserverStates, observers } from './observers';
import { Peer } from './peer';
import { turns } from './turns';

export interface NodeOptions {
  readonly redis: string;
  readonly namespace: string;
  readonly shards: number;
}

export interface EngineNode extends NodeOptions {
  readonly store: string;
  readonly taskQueues: Readonly<Record<string, { concurrency: number }>>;
}

export interface WorkerNode extends NodeOptions {
  /** The test file that declares the Flows, the `describe` in it, and which of its Flows. */
  readonly file: string;
  readonly title: string;
  readonly flows: readonly number[];
  readonly slots?: number;
  readonly callSlots?: number;
  readonly grace?: number;
  readonly observed: ObserverStates;
}

const logger: Logger = {
  debug() {},
  info() {},
  warn: (message, fields) => note('warn', message, fields),
  error: (message, fields) => note('error', message, fields),
};

function note(level: string, message: string, fields: unknown): void {
  if (process.env.HOLDFAST_TEST_LOG) console.error(process.pid, level, message, fields);
}

let clock = new MovableClock();
let store: ObservedStore | undefined;
let closeNode: (() => Promise<void>) | undefined;
let stats = () => ({ writes: 0, records: 0, bytes: 0 });

const peer = new Peer(process, {
  async openEngine(options: EngineNode, at: ClockState): Promise<string> {
    clock = new MovableClock(at);
    store = new ObservedStore(await openStore(options.store, { shared: true }));
    store.faults = {
      beforeWrite: (batch: WriteBatch) => peer.call('beforeWrite', batch),
      afterWrite: (batch: WriteBatch) => peer.call('afterWrite', batch, stats()),
      failed: () => peer.tell('writeFailed'),
    };
    const engine = await openEngine({ ...options, ...{ clock, logger, store: store.forProcess(), signals: false } });
    stats = () => ({ ...engine.stats });
    const { inner } = store;
    closeNode = async () => {
      await engine.close();
      await inner.close();
    };
    return engine.id;
  },

  async openWorker(options: WorkerNode, at: ClockState): Promise<string> {
    clock = new MovableClock(at);
    const { file, title, flows: wanted, observed, ...rest } = options;
    const declared = await load(file, title);
    observers.restore(observed);
    const flows = wanted.map((i) => declared[i]!);
    const resolver = new ReportingResolver(new InversifyResolver());
    const worker = await openWorker({
      ...{ grace: 0, ...rest },
      flows,
      resolver,
      ...{ clock, logger, signals: false },
    });
    closeNode = () => worker.close();
    return worker.id;
  },

  async close(): Promise<void> {
    await closeNode?.();
    clock.stop();
  },

  async move(ms: number): Promise<void> {
    clock.move(ms);
    await turns(5);
  },
  setWall: (byMs: number) => clock.setWall(byMs),
  turns: () => turns(5),
  count: (prefix: string) => store!.count(prefix),
  observed: (observation: Observation) => observers.take(observation),
});

/** The Flows of a test file, whose tests are not run here. */
async function load(file: string, title: string): Promise<readonly FlowClass[]> {
  const nothing = () => {};
  Object.assign(globalThis, { describe: nothing, it: nothing, before: nothing, after: nothing, beforeEach: nothing });
  Object.assign(globalThis, { afterEach: nothing });
  require(file);
  return declaredFlows(file, title);
}

let unseen = false;
observers.onObservation = (observation) => {
  unseen = true;
  peer.tell('observed', observation);
};

/** A result leaves this process only after the test has seen what its handler did. */
class ReportingResolver implements HandlerResolver {
  private running = 0;

  constructor(private readonly inner: HandlerResolver) {}

  adopt(classes: readonly Class[]): void {
    this.inner.adopt(classes);
  }

  async resolve<T>(type: Class<T>): Promise<Resolved<T>> {
    const resolved = await this.inner.resolve(type);
    peer.tell('running', ++this.running);
    return {
      handler: resolved.handler,
      release: async () => {
        await resolved.release?.();
        if (unseen) {
          unseen = false;
          await peer.call('seen');
        }
        // When its result has been sent.
        setImmediate(() => peer.tell('running', --this.running));
      },
    };
  }
}

process.on('disconnect', () => process.exit(1));
process.on('unhandledRejection', (reason) => note('error', 'unhandled rejection', reason));
peer.tell('ready');
