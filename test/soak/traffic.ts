import assert from 'node:assert/strict';
import { type Client, HoldfastError } from '../../index';
import { randomFrom } from '../faults/random';
import { Balance, depositOf, Parcels, payOf, SoakFlow, Taken } from './soak-flow';

/** What the client has had an answer for, and what was there when it looked. */
export interface Totals {
  started: number;
  ended: number;
  published: number;
  consumed: number;
  deposits: number;
  pays: number;
  timers: number;
  retries: number;
  /** Requests that got no answer in time, and were sent again with the same id. */
  repeats: number;
  /** Requests that were sent twice on purpose. */
  doubled: number;
}

export const noTotals: Totals = {
  ...{ started: 0, ended: 0, published: 0, consumed: 0, deposits: 0, pays: 0, timers: 0, retries: 0 },
  ...{ repeats: 0, doubled: 0 },
};

const requestDeadline = '10s';
/** A Flow that has not ended this long after all was sent to it is stuck. */
const stuckMs = 180_000;
const pauseMs = 20;

/** Lanes of Flows, one after the other under the same flowId, each compared with what was acknowledged for it. */
export class Traffic {
  readonly totals: Totals = { ...noTotals };
  readonly wrong: string[] = [];
  private isOver = false;

  constructor(
    private readonly client: Client,
    private readonly seed: number,
    private readonly lanes: number,
    /** Above the deadline of a request: who asks late must still find the Flow. */
    private readonly retention: string,
  ) {}

  /** Resolves when `finish` was called and every Flow has ended. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: this.lanes }, (_, lane) => this.lane(lane)));
  }

  finish(): void {
    this.isOver = true;
  }

  private async lane(lane: number): Promise<void> {
    const random = randomFrom(this.seed * 1_000 + lane);
    for (let round = 0; !this.isOver; round++) {
      try {
        await this.flow(`lane-${lane}`, `${this.seed}-${lane}-${round}`, random);
      } catch (error) {
        const message = error instanceof Error ? error.message : error;
        this.wrong.push(`lane ${lane}, round ${round}: ${message}${await this.historyOf(`lane-${lane}`)}`);
        return;
      }
      await sleep(pauseMs);
    }
  }

  private async flow(flowId: string, name: string, random: () => number): Promise<void> {
    const { client, totals } = this;
    const order = {
      messages: 3 + Math.floor(random() * 8),
      pays: 2 + Math.floor(random() * 3),
      timerMs: 50 + Math.floor(random() * 1_000),
    };
    const durability = random() < 0.5 ? 'SYNC' : 'ASYNC';
    const options = { requestId: `${name}-start`, idReuse: 'ifClosed', durability, retention: this.retention } as const;
    const { runId } = await this.twiceAtTimes(random, (call) =>
      client.start(SoakFlow, flowId, order, { ...options, ...call }),
    );
    totals.started++;
    const deposits = 1 + Math.floor(random() * 3);
    const publish = async (from: number, until: number) => {
      const values = Array.from({ length: until - from }, (_, i) => from + i);
      const messages = values.map((value) => ({ channel: Parcels, value, messageId: `${name}-${value}` }));
      await this.twiceAtTimes(random, (call) => client.publishAll(SoakFlow, flowId, messages, call));
      totals.published += messages.length;
    };
    const deposit = async () => {
      for (let i = 0; i < deposits; i++) {
        const requestId = `${name}-deposit-${i}`;
        const balance = await this.twiceAtTimes(random, (call) =>
          client.rpc(SoakFlow, flowId, { ...call, requestId }).deposit(depositOf(i)),
        );
        assert.equal(balance % depositOf(i + 1), depositOf(i + 1) - 1, `the answer of deposit ${i} is ${balance}`);
        totals.deposits++;
      }
    };
    const half = Math.floor(order.messages / 2);
    await Promise.all([publish(0, half), deposit()]);
    // The last message lets the Flow end.
    await publish(half, order.messages);
    await this.check(flowId, runId, order, deposits);
  }

  private async check(
    flowId: string,
    runId: string,
    order: { messages: number; pays: number },
    deposits: number,
  ): Promise<void> {
    const { client, totals } = this;
    const outputs = (await this.ended(flowId, runId)).map(({ value }) => value as string).sort();
    const paid = Array.from({ length: order.pays }, () => 'paid');
    assert.deepEqual(outputs, ['collected', 'fired', 'retried', ...paid].sort());
    totals.ended++;
    totals.timers++;
    totals.retries += 2;
    const attributes = await this.answered((call) => client.attributes(SoakFlow, flowId, { ...call, runId }));
    const expected = Array.from({ length: order.messages }, (_, i) => i);
    assert.deepEqual(attributes.get(Taken), expected, `${flowId}, ${runId}`);
    totals.consumed += order.messages;
    const bits = [...Array(deposits).keys()].map(depositOf).concat([...Array(order.pays).keys()].map(payOf));
    const balance = attributes.get(Balance);
    assert.equal(
      balance,
      bits.reduce((sum, bit) => sum + bit),
      `the balance of ${flowId}, ${runId}`,
    );
    totals.pays += order.pays;
    const history = await this.answered((call) => client.history(flowId, { ...call, runId }));
    const count = (kind: string) => history.filter((event) => event.kind === kind).length;
    const counted = ['FlowStarted', 'MessagePublished', 'RpcCompleted', 'ExecuteCompleted', 'FlowClosed'].map(count);
    const steps = 1 + order.messages + order.pays + 2;
    assert.deepEqual(counted, [1, order.messages, deposits, steps, 1], `the history of ${flowId}, ${runId}`);
  }

  private async ended(flowId: string, runId: string) {
    const late = Date.now() + stuckMs;
    try {
      return await this.answered((call) => this.client.outputs(SoakFlow, flowId, { ...call, runId }), late);
    } catch (error) {
      const seen = await this.client.describe(flowId, { runId, deadline: '5s' }).catch(String);
      const what = JSON.stringify(seen, (_, value) => (value instanceof Map ? [...value] : value));
      throw new Error(`stuck: ${error instanceof Error ? error.message : error}: ${what}`);
    }
  }

  private async historyOf(flowId: string): Promise<string> {
    const events = await this.client.history(flowId, { deadline: '20s' }).catch(() => []);
    const shown = (value: unknown) =>
      JSON.stringify(value, (_, each) => (each instanceof Uint8Array ? Buffer.from(each).toString('base64') : each));
    return events.map((event) => `\n    ${shown(event)}`).join('');
  }

  /** The answer, sometimes asked for twice at once with the same id. */
  private async twiceAtTimes<T>(random: () => number, ask: (call: { deadline: string }) => Promise<T>): Promise<T> {
    if (random() > 0.1) return this.answered(ask);
    this.totals.doubled++;
    const [first, second] = await Promise.all([this.answered(ask), this.answered(ask)]);
    assert.deepEqual(second, first, 'a repeat was answered differently');
    return first;
  }

  private async answered<T>(ask: (call: { deadline: string }) => Promise<T>, late = Date.now() + stuckMs): Promise<T> {
    for (;;) {
      try {
        return await ask({ deadline: requestDeadline });
      } catch (error) {
        if (!(error instanceof HoldfastError) || error.kind !== 'transient' || Date.now() > late) throw error;
        this.totals.repeats++;
        await sleep(100);
      }
    }
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
