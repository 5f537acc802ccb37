import 'reflect-metadata';
import { Flow, gracefulComplete, Step, Timer, until } from 'holdfast';
import { TestEnvironment } from 'holdfast/testing';

@Step({ inject: [] })
class RemindStep {
  waitFor() {
    return until(Timer.after('30d'));
  }
  execute(name: string) {
    return gracefulComplete(`${name} was reminded`);
  }
}

@Flow({ inject: [] })
class ReminderFlow {
  static readonly start = RemindStep;
}

describe('ReminderFlow', () => {
  it('reminds after a month, over a crash', async () => {
    const env = await TestEnvironment.open({ flows: [ReminderFlow] });
    await env.client.start(ReminderFlow, 'r-1', 'Ada');
    await env.advance('29d');
    await env.crash();
    if ((await env.client.describe('r-1')).status !== 'running') throw new Error('not running');
    await env.advance('1d');
    const said = await env.client.result(ReminderFlow, 'r-1');
    if (said !== 'Ada was reminded') throw new Error(said);
    await env.close();
  });
});
