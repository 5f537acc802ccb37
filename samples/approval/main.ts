import { setTimeout as pause } from 'node:timers/promises';
import {
  Attribute,
  anyOf,
  Channel,
  type Client,
  DurableAttribute,
  DurableChannel,
  Flow,
  gracefulComplete,
  Holdfast,
  Step,
  type StepContext,
  Timer,
} from '../../index';
import { printHistory } from '../history-table';

interface Request {
  readonly what: string;
  readonly approvers: number;
}

@Channel()
class Votes extends DurableChannel<{ by: string; yes: boolean }> {}

@Attribute()
class Verdict extends DurableAttribute<'approved' | 'refused' | 'too late'> {}

/** Waits for as many votes as are needed; who is too slow is not waited for. */
@Step({ name: 'Ask' })
class AskStep {
  constructor(
    private readonly votes: Votes,
    private readonly verdict: Verdict,
  ) {}

  waitFor(request: Request) {
    return anyOf(this.votes.take(request.approvers), Timer.after('2d', 'deadline'));
  }

  execute(request: Request, ctx: StepContext) {
    const votes = this.votes.received();
    if (ctx.fired('deadline')) this.verdict.set('too late');
    else this.verdict.set(votes.every(({ yes }) => yes) ? 'approved' : 'refused');
    return gracefulComplete({ what: request.what, votes: votes.map(({ by, yes }) => `${by}: ${yes ? 'yes' : 'no'}`) });
  }
}

@Flow({ name: 'approval' })
class ApprovalFlow {
  static readonly start = AskStep;
}

async function main() {
  const holdfast = await Holdfast.open({ flows: [ApprovalFlow], store: 'memory:' });
  const { client } = holdfast;
  const ask = (id: string, what: string) => client.start(ApprovalFlow, id, { what, approvers: 2 });
  const vote = (id: string, by: string, yes: boolean) => client.publish(ApprovalFlow, id, Votes, { by, yes });

  await ask('bicycle', 'a new bicycle');
  await vote('bicycle', 'mara', true);
  await vote('bicycle', 'jon', true);

  await ask('yacht', 'a yacht');
  await vote('yacht', 'mara', true);
  await vote('yacht', 'jon', false);

  await ask('moon', 'a trip to the moon');
  await vote('moon', 'mara', true);
  await untilWaiting(client, 'moon');
  const [unread] = (await client.describe('moon')).unread;
  console.log(`moon has ${unread?.messages} vote and waits for another; the sample lets two days pass`);
  await client.skipTimer('moon', 'Ask-1', 'deadline');

  for (const id of ['bicycle', 'yacht', 'moon']) {
    const output = await client.result(ApprovalFlow, id);
    const verdict = (await client.attributes(ApprovalFlow, id)).get(Verdict);
    console.log(`${id}: ${verdict}`, output.votes);
  }
  console.log('\nmoon, event by event:');
  printHistory(await client.history('moon'));
  await holdfast.close();
}

async function untilWaiting(client: Client, flowId: string): Promise<void> {
  while ((await client.describe(flowId)).steps[0]?.state !== 'waiting') await pause(5);
}

main();
