import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  Attribute,
  anyOf,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  Holdfast,
  initially,
  type Logger,
  Step,
  Timer,
  until,
} from '../../index';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { eventually } from '../support/eventually';
import { stepStates } from '../support/expect';
import { describeOnEveryStore } from '../support/stacks';
import { temporaryFolder } from '../support/temporary-folder';

@Attribute({ name: 'Old' })
class OldNote extends DurableAttribute<string> {}

@Channel({ name: 'Mail' })
class Mail extends DurableChannel<string> {}

@Channel({ name: 'Idle' })
class Idle extends DurableChannel<string> {}

@Step({ name: 'Wait' })
class WaitStep {
  constructor(
    private readonly note: OldNote,
    private readonly mail: Mail,
    private readonly idle: Idle,
  ) {}
  waitFor() {
    return anyOf(this.mail.take(2), this.idle.take(1), Timer.after('1h'));
  }
  execute() {
    return gracefulComplete(this.note.get());
  }
}

@Flow({ name: 'Checked' })
class OldFlow {
  static readonly start = WaitStep;
}

@Attribute({ name: 'New', aliases: ['Old'] })
class NewNote extends DurableAttribute<string> {}

@Channel({ name: 'Letters', aliases: ['Mail'] })
class Letters extends DurableChannel<string> {}

@Step({ name: 'Sleep', aliases: ['Wait'] })
class SleepStep {
  constructor(
    private readonly note: NewNote,
    private readonly letters: Letters,
    private readonly idle: Idle,
  ) {}
  waitFor() {
    return anyOf(this.letters.take(2), this.idle.take(1), Timer.after('1h'));
  }
  execute() {
    return gracefulComplete(this.note.get());
  }
}

@Flow({ name: 'Checked' })
class RenamedFlow {
  static readonly start = SleepStep;
}

@Step({ name: 'Begin' })
class BeginStep {
  execute() {
    return goTo(EndStep);
  }
}

@Step({ name: 'End' })
class EndStep {
  waitFor() {
    return until(Timer.after('1h'));
  }
  execute() {
    return gracefulComplete();
  }
}

@Flow({ name: 'Checked' })
class BareFlow {
  static readonly start = BeginStep;
  static readonly steps = [EndStep];
}

@Flow({ name: 'Beside' })
class BesideFlow {
  static readonly start = EndStep;
}

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

const lacks = [
  { what: 'Attribute', name: 'Old' },
  { what: 'Channel', name: 'Idle' },
  { what: 'Channel', name: 'Mail' },
  { what: 'Step', name: 'Wait' },
];

async function begin(holdfast: Pick<Holdfast, 'client'>): Promise<void> {
  for (const id of ['a', 'b']) {
    await holdfast.client.start(OldFlow, id, undefined, { attributes: [initially(OldNote, 'x')] });
    await holdfast.client.publish(OldFlow, id, Mail, 'unread');
    await eventually(async () => assert.deepEqual(await stepStates(holdfast.client, id), { 'Wait-1': 'waiting' }));
  }
  await holdfast.client.start(OldFlow, 'closed', undefined, { attributes: [initially(OldNote, 'x')] });
  await holdfast.client.stop('closed', 'cancel', 'enough');
}

describeOnEveryStore('Code that is to go on with open runs', (stack) => {
  it('[V2] check names what open runs have and the code lacks, under whatever name', async () => {
    const system = await stack.open({ flows: [OldFlow, BesideFlow] });
    await begin(system);
    await system.client.start(BesideFlow, 'beside');
    assert.deepEqual(await system.client.check(), { lacks: [], foreign: {}, complete: true });

    await system.crash({ flows: [BareFlow] });
    const report = await system.client.check();
    const found = report.lacks.map(({ what, name }) => ({ what, name })).sort((x, y) => (x.name < y.name ? -1 : 1));
    assert.deepEqual(
      found,
      [...lacks].sort((x, y) => (x.name < y.name ? -1 : 1)),
    );
    for (const { flow, runs, flowId } of report.lacks) {
      assert.deepEqual([flow, runs, ['a', 'b'].includes(flowId)], ['Checked', 2, true]);
    }
    assert.deepEqual([report.foreign, report.complete], [{ Beside: 1 }, true]);
    assert.equal((await system.client.check({ limit: 0 })).complete, false);

    await system.crash({ flows: [RenamedFlow, BesideFlow] });
    assert.deepEqual(await system.client.check(), { lacks: [], foreign: {}, complete: true });
  });
});

describe('Code that is to go on with open runs, at its start', () => {
  it('[V2] a process says what open runs have and its code lacks', async () => {
    const store = new MemoryStateStore();
    const warned: unknown[] = [];
    const logger: Logger = { debug() {}, info() {}, warn: (_, details) => warned.push(details), error() {} };
    const before = await Holdfast.open({ flows: [OldFlow], store, logger: silent });
    await begin(before);
    await before.close();
    const after = await Holdfast.open({ flows: [BareFlow], store, logger });
    await eventually(() => warned.length === lacks.length);
    const said = warned as { what: string; name: string; runs: number }[];
    assert.deepEqual(said.map(({ name }) => name).sort(), lacks.map(({ name }) => name).sort());
    await after.close();
  });

  it('[V2] holdfast check ends with 1 and names them, and with 0 where nothing is missing', async () => {
    const folder = await temporaryFolder();
    try {
      const store = `file:${folder.path}/state`;
      const before = await Holdfast.open({ flows: [OldFlow], store, logger: silent });
      await begin(before);
      await before.close();
      const root = join(__dirname, '..', '..');
      const run = (module: string) =>
        promisify(execFile)(process.execPath, [
          ...['-r', join(root, 'test/support/register.cjs'), join(root, 'lib/cli/main.ts')],
          ...['check', module, '--store', store],
        ]);
      const bare = await run(join(root, 'test/support/checked-builds/bare.ts')).then(
        () => assert.fail('it found nothing'),
        (error: { code: number; stdout: string }) => error,
      );
      assert.equal(bare.code, 1);
      assert.match(bare.stdout, /LACKS {2}Checked: the Step Wait, of 2 open runs, such as "[ab]"/);
      const whole = await run(join(root, 'test/support/checked-builds/whole.ts'));
      assert.match(whole.stdout, /^ok {5}1 Flows have all that open runs need/);
    } finally {
      await folder.remove();
    }
  });
});
