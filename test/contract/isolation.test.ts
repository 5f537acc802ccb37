import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  deadEnd,
  Flow,
  goToMany,
  gracefulComplete,
  Holdfast,
  type Logger,
  Step,
  to,
  until,
} from '../../index';
import type { StateStore } from '../../lib/ports';
import { keys } from '../../lib/store/keys';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { openStore } from '../../lib/store/open-store';
import { eventually } from '../support/eventually';
import { refuses } from '../support/expect';
import { fresh, Gate } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';
import { temporaryFolder } from '../support/temporary-folder';

const gate = new Gate();
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

@Channel()
class Wakes extends DurableChannel<string> {}

@Attribute()
class Tally extends DurableAttribute<number> {}

@Step({ name: 'Sleep' })
class SleepStep {
  constructor(private readonly wakes: Wakes) {}

  waitFor() {
    return until(this.wakes.take(1));
  }

  async execute() {
    const [wake] = this.wakes.received();
    if (wake === 'stay') await new Promise(() => {});
    return gracefulComplete(wake);
  }
}

@Flow({ name: 'Sleeper' })
class SleeperFlow {
  static readonly start = SleepStep;
}

/** Reads, waits for the test, and writes what it read and one more, without a lock. */
@Step({ name: 'Add' })
class AddStep {
  constructor(private readonly tally: Tally) {}

  async execute(name: string) {
    const before = this.tally.get() ?? 0;
    await gate.pass(name);
    this.tally.set(before + 1);
    return deadEnd();
  }
}

@Step({ name: 'Begin' })
class BeginStep {
  execute(names: string[]) {
    return goToMany(names.map((name) => to(AddStep, name)));
  }
}

@Flow({ name: 'Unlocked' })
class UnlockedFlow {
  static readonly start = BeginStep;
  static readonly steps = [AddStep];
}

describeOnEveryStack('Unlocked Attributes', [UnlockedFlow], (stack) => {
  const system = stack.shared({ flows: [UnlockedFlow] });

  it('[S7] two reads and writes without a lock may overwrite each other, and nothing fails', async () => {
    const flowId = fresh('unlocked');
    const names = [`${flowId} a`, `${flowId} b`];
    await system.client.start(UnlockedFlow, flowId, names);
    for (const name of names) await eventually(() => assert.equal(gate.arrived(name), 1));
    for (const name of names) gate.open(name);
    for (const number of [1, 2]) await system.client.waitForStep(UnlockedFlow, flowId, AddStep, { number });
    assert.equal((await system.client.attributes(UnlockedFlow, flowId)).get(Tally), 1);
  });
});

describe('A damaged run', () => {
  const memory = async () => {
    const store = new MemoryStateStore();
    return { open: async () => store, remove: async () => {} };
  };
  const folder = async (scheme: string) => {
    const { path, remove } = await temporaryFolder();
    return { open: () => openStore(`${scheme}:${path}/state`), remove };
  };
  const stores = { memory, file: () => folder('file'), lmdb: () => folder('lmdb') };
  for (const [name, make] of Object.entries(stores)) {
    for (const state of ['waiting', 'running'] as const) {
      it(`[P10] which is ${state} is blocked with its error, and its shard goes on (${name})`, async () =>
        isBlocked(await make(), state));
    }
  }

  async function isBlocked(
    { open, remove }: { open(): Promise<StateStore>; remove(): Promise<void> },
    state: 'waiting' | 'running',
  ): Promise<void> {
    const optionsOn = (store: StateStore) => ({ flows: [SleeperFlow], store, logger: silent, grace: 0 });
    const first = await Holdfast.open(optionsOn(await open()));
    await first.client.start(SleeperFlow, 'good');
    const { runId } = await first.client.start(SleeperFlow, 'bad');
    for (const id of ['good', 'bad']) {
      await eventually(async () => assert.equal((await first.client.describe(id)).steps[0]?.state, 'waiting'));
    }
    if (state === 'running') await first.client.publish(SleeperFlow, 'bad', Wakes, 'stay');
    await eventually(async () => assert.equal((await first.client.describe('bad')).steps[0]?.state, state));
    await first.close();
    const store = await open();
    const shard = await store.open(0);
    await shard.write(new Map([[keys.run(runId), Uint8Array.of(0x31, 0xc1)]]));
    await shard.close();
    await store.close();
    const second = await Holdfast.open(optionsOn(await open()));
    await refuses(second.client.describe('bad'), 'CORRUPT_RECORD', /"bad" is blocked/);
    await refuses(second.client.publish(SleeperFlow, 'bad', Wakes, 'up'), 'CORRUPT_RECORD');
    await second.client.publish(SleeperFlow, 'good', Wakes, 'up');
    assert.equal(await second.client.result(SleeperFlow, 'good'), 'up');
    await second.close();
    await remove();
  }
});

describe('User code', () => {
  it('[X11] a rejected promise that nobody awaits stops neither its process nor other tasks', async () => {
    const program = join(__dirname, '../support/stray-rejection-program.ts');
    const root = join(__dirname, '../..');
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['-r', './test/support/register.cjs', program],
      { cwd: root },
    );
    assert.equal(stdout, 'stray: done\nother: done\n');
    assert.match(stderr, /nobody awaits it/);
    assert.match(stderr, /left alone/);
  });
});
