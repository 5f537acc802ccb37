import { setTimeout as pause } from 'node:timers/promises';
import type { Client, FlowClass, FlowInput } from '../../index';
import type { StartOptions } from '../../lib/client';
import {
  AccountFlow,
  ChainFlow,
  CollectFlow,
  CountFlow,
  LongFlow,
  Messages,
  OnceFlow,
  RareFlow,
  RetryFlow,
  SlowerFlow,
  TimedFlow,
} from './flows';

export const links = 8;
export const branches = 6;
export const messages = 6;
export const calls = 8;
export const pieces = 60;
export const timerMs = 1_200;

/** A Flow of a round, and what its client was told. */
export interface Told {
  readonly flow: FlowClass;
  readonly flowId: string;
  readonly durability: 'SYNC' | 'ASYNC';
  readonly startedAt: number;
  readonly runId: string;
  /** Set when the end was told. */
  outputs?: readonly unknown[];
  /** Answers of RPCs, by what was added. */
  readonly answers: Map<string, number>;
}

const deadline = '120s';

/** Flows of all kinds, begun at once, with messages and calls that go on while whatever happens. */
export class Load {
  readonly flows: Told[] = [];

  private constructor(
    private readonly client: Client,
    private readonly name: string,
  ) {}

  /** Starts them all; resolves when every start is acknowledged. `ended` of what it gives resolves at the end of all. */
  static async begin(client: Client, name: string): Promise<{ load: Load; ended: Promise<unknown> }> {
    const load = new Load(client, name);
    const several = (count: number, start: (n: number) => Promise<Told>) =>
      Promise.all(Array.from({ length: count }, (_, n) => start(n)));
    await Promise.all([
      several(3, (n) => load.start(ChainFlow, `sync-${n}`, links)),
      several(3, (n) => load.start(ChainFlow, `async-${n}`, links, { durability: 'ASYNC' })),
      several(2, (n) => load.start(CountFlow, `count-${n}`, branches)),
      several(2, (n) => load.start(RetryFlow, `retry-${n}`, undefined)),
      several(2, (n) => load.start(OnceFlow, `once-${n}`, 1)),
      several(2, (n) => load.start(RareFlow, `rare-${n}`, 6)),
      several(2, (n) => load.start(LongFlow, `long-${n}`, pieces)),
      several(2, (n) => load.start(SlowerFlow, `slower-${n}`, undefined)),
      several(2, (n) => load.start(CollectFlow, `collect-${n}`, messages)),
      several(2, (n) => load.start(TimedFlow, `timed-${n}`, timerMs)),
      several(1, (n) => load.start(AccountFlow, `account-${n}`, undefined)),
    ]);
    return { load, ended: Promise.all(load.flows.map((told) => load.seeOff(told))) };
  }

  private async start<F extends FlowClass>(
    flow: F,
    name: string,
    input: FlowInput<F>,
    options: StartOptions = {},
  ): Promise<Told> {
    const flowId = `${this.name}-${name}`;
    const startedAt = Date.now();
    const { runId } = await this.client.start(flow as FlowClass, flowId, input as undefined, { deadline, ...options });
    const { durability = 'SYNC' } = options;
    const told: Told = { flow, flowId, durability, startedAt, runId, answers: new Map() };
    this.flows.push(told);
    return told;
  }

  private async seeOff(told: Told): Promise<void> {
    if (told.flow === CollectFlow) await this.publish(told);
    if (told.flow === AccountFlow) await this.call(told);
    const outputs = await this.client.outputs(told.flow, told.flowId, { deadline });
    told.outputs = outputs.map(({ value }) => value);
  }

  private async publish({ flowId }: Told): Promise<void> {
    for (let message = 0; message < messages; message++) {
      await this.client.publish(CollectFlow, flowId, Messages, message, {
        messageId: `${flowId}-${message}`,
        deadline,
      });
      await pause(250);
    }
  }

  private async call({ flowId, answers }: Told): Promise<void> {
    const one = async (n: number) => {
      await pause(n * 200);
      const rpc = this.client.rpc(AccountFlow, flowId, { deadline });
      const entry = `entry-${n}`;
      answers.set(entry, await (n % 2 === 0 ? rpc.add(entry) : rpc.addAlone(entry)));
    };
    await Promise.all(Array.from({ length: calls }, (_, n) => one(n)));
    await this.client.rpc(AccountFlow, flowId, { deadline }).finish();
  }
}
