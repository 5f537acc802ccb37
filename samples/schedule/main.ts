import { setTimeout as pause } from 'node:timers/promises';
import {
  Attribute,
  type Client,
  DurableAttribute,
  Flow,
  gracefulComplete,
  Holdfast,
  initially,
  Step,
  type StepContext,
} from '../../index';

@Attribute()
class Region extends DurableAttribute<string> {}

interface Report {
  readonly title: string;
}

/** The time it stands for is that of its firing, however late it runs. */
@Step({ name: 'Report' })
class ReportStep {
  constructor(private readonly region: Region) {}

  execute({ title }: Report, ctx: StepContext) {
    const wall = ctx.schedule?.at.toLocaleString('en-GB', { timeZone: 'Europe/Berlin' });
    return gracefulComplete(`${title}, ${this.region.get()}, ${wall}`);
  }
}

@Flow({ name: 'report' })
class ReportFlow {
  static readonly start = ReportStep;
}

async function main() {
  const holdfast = await Holdfast.open({ flows: [ReportFlow], store: 'memory:' });
  const { client } = holdfast;
  const { schedules } = client;

  await schedules.register('nightly', {
    cron: '30 2 * * *',
    timeZone: 'Europe/Berlin',
    flow: ReportFlow,
    input: { title: 'Sales' },
    attributes: [initially(Region, 'eu')],
    catchUp: '6h',
  });
  const again = await schedules.register('heartbeat', { every: '1s', flow: ReportFlow, input: { title: 'Alive' } });
  console.log('heartbeat is new:', again.created);

  console.log('the nights in which the clock is changed, once each:');
  for (const night of ['2026-03-29', '2026-10-25']) {
    const { fired } = await schedules.backfill('nightly', {
      from: new Date(`${night}T00:00:00+01:00`),
      to: new Date(`${night}T06:00:00+01:00`),
    });
    console.log(' ', night, 'fires', fired);
  }
  await ended(client, 'nightly', 2);
  const { recent } = await schedules.describe('nightly');
  for (const { flowId } of [...recent].reverse()) console.log(' ', await client.result(ReportFlow, flowId!));

  await ended(client, 'heartbeat', 2);
  await schedules.pause('heartbeat', 'seen enough');
  const { flowId } = await schedules.trigger('heartbeat');
  await client.result(ReportFlow, flowId!);
  for (const { id, paused } of await schedules.list())
    console.log(id, paused ? `is paused: ${paused.reason}` : 'goes on');
  await schedules.delete('heartbeat');
  await holdfast.close();
}

async function ended(client: Client, id: string, runs: number): Promise<void> {
  for (;;) {
    const { counts, running } = await client.schedules.describe(id);
    if (counts.started >= runs && running.length === 0) return;
    await pause(20);
  }
}

main();
