import type { FlowClass } from '../../index';
import { ClusterStack } from './cluster-stack';
import { ContractNode } from './contract-node';
import { countTests, report } from './contract-report';
import { type Declared, declareFlows } from './declared-flows';
import { EmbeddedStack } from './embedded-stack';
import { observers } from './observers';
import { S3Server } from './s3-server';
import type { OpenedSystems, Stack } from './stack';
import { type StoreKind, stopS3, storeKinds } from './store-kinds';

export type { Processes, Stack, System } from './stack';

const embedded = (kind: StoreKind) => () => new EmbeddedStack(kind);

const makers: Record<string, (declared: Declared) => OpenedSystems> = {
  memory: embedded(storeKinds.memory),
  file: embedded(storeKinds.file),
  lmdb: embedded(storeKinds.lmdb),
  s3: embedded(storeKinds.s3),
  redis: (declared) => new ClusterStack('redis', declared),
  bullmq: (declared) => new ClusterStack('bullmq', declared),
};

const chosen = process.env.STACKS?.split(',') ?? ['memory', 'file', 'lmdb'];
const stacks = Object.keys(makers).filter((name) => chosen.includes(name) && (name !== 's3' || S3Server.isInstalled));

/**
 * Declares the same tests for the stacks of `STACKS`, e.g. `STACKS=memory,redis` [those that need no server]. `flows` are all that the
 * tests use: where workers are processes of their own, these load the file to have them.
 */
export function describeOnEveryStack(title: string, flows: readonly FlowClass[], tests: (stack: Stack) => void): void;
/** Without the Flows: for the stacks of one process. */
export function describeOnEveryStack(title: string, tests: (stack: Stack) => void): void;
export function describeOnEveryStack(title: string, ...rest: readonly unknown[]): void {
  const tests = rest.at(-1) as (stack: Stack) => void;
  const flows = (rest.length === 2 ? rest[0] : []) as readonly FlowClass[];
  const file = declareFlows(title, flows, __filename);
  for (const name of stacks) {
    const stack = makers[name]!({ file, title, flows });
    if (stack.isCluster && rest.length === 1) continue;
    describe(`${title} (${stack.name})`, () => {
      afterEach(() => stack.closeOpened());
      countTests(name, stack.name);
      observers.shared = false;
      tests(stack);
      observers.shared = true;
    });
  }
}

/** Declares the same tests for every store that one process uses alone. */
export function describeOnEveryStore(title: string, tests: (stack: Stack) => void): void {
  for (const name of ['memory', 'file', 'lmdb'] as const) {
    if (!chosen.includes(name)) continue;
    const stack = new EmbeddedStack(storeKinds[name]);
    describe(`${title} (${stack.name})`, () => {
      afterEach(() => stack.closeOpened());
      tests(stack);
    });
  }
}

after(async () => {
  await ContractNode.endAll();
  await ClusterStack.stopServer();
  await stopS3();
  report();
});
