import type { AnyStep, AttributeClass, ChannelClass, ChannelMessage, FlowClass, FlowOutput } from '../authoring';
import type { Compiled, CompiledFlow } from '../compiler';
import { type Address, addressOf, clientIdPrefix, type Event, type Payload, type Started, type StopHow } from '../core';
import type { ClientCommand, HoldfastDispatch, ReadWhat } from '../dispatch';
import type { Outcome, RunDescription } from '../engine';
import { HoldfastError } from '../errors';
import type { Class, Clock, Ids } from '../ports';
import { checkId, digest, encode, encodeRecord, shardOf } from '../values';
import { durationMs } from '../values/duration';
import { AttributeValues, lowerInitial } from './attribute-values';
import { Exchange } from './exchange';
import { type FlowOutputEntry, type FlowResult, failureOf, onlyOutput, outputsOf } from './flow-outcome';
import { type HistoryEvent, historyEvent } from './history-event';
import type { CallOptions, RequestOptions } from './settings';
import { type ConfigOptions, lowerConfig, type StartArguments, type StartOptions } from './start-options';

export interface ClientParts {
  /** Names this process; new for each. */
  readonly process: string;
  readonly compiled: Compiled;
  readonly dispatch: HoldfastDispatch;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly shards: number;
}

/** Which run of a flowId is meant [the latest]. */
export interface RunOptions extends CallOptions {
  readonly runId?: string;
}

export interface OutgoingMessage {
  readonly channel: ChannelClass;
  /** Of a `DurableChannelMap`. */
  readonly key?: string;
  readonly value: unknown;
  /** The same id is stored once (C3) [a new one]. */
  readonly messageId?: string;
}

/**
 * Starts Flows and asks about them (K). Every call rejects with a `HoldfastError` with a stable `code`; what changes
 * something is repeated by itself with the same id until it is answered, and is applied once.
 */
export class Client {
  private readonly exchange: Exchange;

  constructor(private readonly parts: ClientParts) {
    this.exchange = new Exchange(parts.process, parts.dispatch, parts.clock, parts.ids);
  }

  /** Makes itself and the plans of its Flows known to every shard. */
  async open(): Promise<void> {
    const { compiled, dispatch, process, shards } = this.parts;
    this.exchange.open();
    const plans = [...compiled.flows.values()].map(({ plan }) => plan);
    for (let shard = 0; shard < shards; shard++) {
      await dispatch.send(shard, { kind: 'introduce', process, plans, worker: null });
    }
  }

  /** Rejects what is still waiting with `CLOSED`. Idempotent. */
  close(): void {
    this.exchange.close();
  }

  /**
   * Starts a Flow under an id of the caller's; resolves when that is durable. A repeat with the same `requestId` gives the
   * first answer (F5). Throws `FLOW_ALREADY_EXISTS`, `ID_CONFLICT`, `INVALID_ID`, `VALUE_NOT_STORABLE`, `PAYLOAD_TOO_LARGE`.
   */
  async start<F extends FlowClass>(flow: F, flowId: string, ...[input, options]: StartArguments<F>): Promise<Started> {
    const { requestId, startDelay, timeout, attributes, idReuse, durability, retention, ...call }: StartOptions =
      options ?? {};
    const compiled = this.flow(flow);
    const payload = input === undefined ? null : encode(input, `input of ${compiled.plan.name}`);
    const writes = lowerInitial(compiled, attributes ?? []);
    const settings = {
      reuse: idReuse ?? 'reject',
      startDelayMs: startDelay === undefined ? 0 : durationMs(startDelay, 'startDelay'),
      ...(timeout !== undefined && { timeoutMs: timeout === null ? null : durationMs(timeout, 'timeout') }),
      config: lowerConfig({ durability, retention }),
    };
    checkReuse(settings.reuse);
    const command: ClientCommand = {
      kind: 'start',
      ...this.identity(requestId, ['start', compiled.plan.name, payload, writes, settings]),
      plan: compiled.plan.fingerprint,
      runId: this.parts.ids.next(),
      input: payload,
      attributes: writes,
      ...settings,
    };
    return (await this.request(flowId, command, call)) as Started;
  }

  /**
   * The output of a Flow when it has completed. Throws `FlowFailedError` if it ended otherwise (with `throwOnFailure: false`
   * that is returned), `SEVERAL_OUTPUTS`, `FLOW_NOT_FOUND` (D8, K3).
   */
  result<F extends FlowClass>(flow: F, flowId: string, options?: RunOptions): Promise<FlowOutput<F>>;
  result<F extends FlowClass>(
    flow: F,
    flowId: string,
    options: RunOptions & { readonly throwOnFailure: false },
  ): Promise<FlowResult<FlowOutput<F>>>;
  async result(flow: FlowClass, flowId: string, options: RunOptions & { throwOnFailure?: boolean } = {}) {
    const outcome = await this.outcome(flow, flowId, options);
    const error = failureOf(flowId, outcome);
    const { runId, status, failKind } = outcome;
    if (options.throwOnFailure === false) {
      return error ? { status, runId, failKind, error } : { status, runId, output: onlyOutput(flowId, outcome) };
    }
    if (error) throw error;
    return onlyOutput(flowId, outcome);
  }

  /** All outputs of a Flow when it has closed, however it closed, in the order in which they were applied (D8). */
  async outputs(flow: FlowClass, flowId: string, options: RunOptions = {}): Promise<FlowOutputEntry[]> {
    return outputsOf(await this.outcome(flow, flowId, options));
  }

  /** What a run is doing: status, Steps, unread messages, locks. Throws `FLOW_NOT_FOUND`. */
  async describe(flowId: string, options: RunOptions = {}): Promise<RunDescription> {
    return (await this.read(flowId, { kind: 'describe' }, options)) as RunDescription;
  }

  /** The events of a run, oldest first. `from` is the number of the first [1], `limit` how many at most [all]. */
  async history(
    flowId: string,
    options: RunOptions & { readonly from?: number; readonly limit?: number } = {},
  ): Promise<HistoryEvent[]> {
    const { from = 1, limit = Number.MAX_SAFE_INTEGER, ...run } = options;
    const events: HistoryEvent[] = [];
    let { runId } = run;
    for (let next = from; events.length < limit; ) {
      const what = { kind: 'history', from: next, limit: Math.min(limit - events.length, 1_000) } as const;
      const page = (await this.read(flowId, what, runId === undefined ? run : { ...run, runId })) as {
        runId: string;
        events: [number, Event][];
        more: boolean;
      };
      runId = page.runId;
      for (const [number, event] of page.events) events.push(historyEvent(number, event));
      if (!page.more) break;
      next = events[events.length - 1]!.number + 1;
    }
    return events;
  }

  /** The Attributes of an open or closed run; needs no worker (A5). */
  async attributes(flow: FlowClass, flowId: string, options: RunOptions = {}): Promise<AttributeValues> {
    const values = await this.read(flowId, { kind: 'attributes' }, options);
    return new AttributeValues(this.flow(flow), values as [Address, Payload][]);
  }

  /**
   * Publishes a message to a Channel of a running Flow; resolves when it is saved (C2, C3). For a `DurableChannelMap` give
   * `key`. Throws `FLOW_NOT_ACTIVE`, `ID_CONFLICT`, `LIMIT_EXCEEDED`.
   */
  async publish<C extends ChannelClass>(
    flow: FlowClass,
    flowId: string,
    channel: C,
    value: ChannelMessage<C>,
    options: CallOptions & { readonly key?: string; readonly messageId?: string } = {},
  ): Promise<void> {
    const { key, messageId, ...call } = options;
    await this.publishAll(flow, flowId, [{ channel, value, ...definedOf({ key, messageId }) }], call);
  }

  /** Publishes several messages in their order, all or none; as `publish`. */
  async publishAll(
    flow: FlowClass,
    flowId: string,
    messages: readonly OutgoingMessage[],
    options: CallOptions = {},
  ): Promise<void> {
    const compiled = this.flow(flow);
    const command: ClientCommand = {
      kind: 'publish',
      plan: compiled.plan.fingerprint,
      messages: messages.map(({ channel, key, value, messageId }) => {
        const address = addressOf(this.channelName(compiled, channel), key);
        const payload = encode(value, `message for ${channel.name}`);
        const id = checkId(messageId ?? this.newId(), 'messageId');
        return { id, digest: digest('publish', address, payload), address, value: payload };
      }),
    };
    await this.request(flowId, command, options);
  }

  /**
   * Stops a run: `cancel` and `fail` abort its Steps and close it, `terminate` closes it at once. The first stop wins; on a
   * closed run nothing changes. Gives the status the run has then (O3). Throws `FLOW_NOT_FOUND`.
   */
  async stop(flowId: string, how: StopHow, reason: string, options: RequestOptions = {}): Promise<{ status: string }> {
    const { requestId, ...call } = options;
    if (how !== 'cancel' && how !== 'fail' && how !== 'terminate') {
      throw new HoldfastError('INVALID_ARGUMENT', `stop takes cancel, fail or terminate, not ${JSON.stringify(how)}.`);
    }
    const command: ClientCommand = { kind: 'stop', ...this.identity(requestId, ['stop', how, reason]), how, reason };
    return (await this.request(flowId, command, call)) as { status: string };
  }

  /**
   * Makes a pending timer count as fired (W7). `timer` is its id; without, the wait must have exactly one timer. Throws
   * `STEP_NOT_FOUND`, `FLOW_NOT_ACTIVE`.
   */
  async skipTimer(
    flowId: string,
    stepExecutionId: string,
    timer?: string,
    options: RequestOptions = {},
  ): Promise<void> {
    const { requestId, ...call } = options;
    const identity = this.identity(requestId, ['skipTimer', stepExecutionId, timer ?? null]);
    await this.request(
      flowId,
      { kind: 'skipTimer', ...identity, execution: stepExecutionId, timer: timer ?? null },
      call,
    );
  }

  /**
   * Changes settings of a running Flow, for methods scheduled later (F9). Throws `FLOW_NOT_ACTIVE`, `FLOW_NOT_FOUND`,
   * `INVALID_DURATION`.
   */
  async updateConfig(flowId: string, config: ConfigOptions, options: RequestOptions = {}): Promise<void> {
    const { requestId, ...call } = options;
    const lowered = lowerConfig(config);
    const identity = this.identity(requestId, ['updateConfig', lowered]);
    await this.request(flowId, { kind: 'updateConfig', ...identity, config: lowered }, call);
  }

  /**
   * Resolves when an execution of the Step has ended, in any way: the first, or the `number`th. Throws `STEP_NOT_FOUND` when
   * the run closes without it.
   */
  async waitForStep<F extends FlowClass>(
    flow: F,
    flowId: string,
    step: AnyStep,
    options: RunOptions & { readonly number?: number } = {},
  ): Promise<void> {
    const { number = 1, ...run } = options;
    const compiled = this.flow(flow);
    const name = compiled.stepName(step as unknown as Class);
    if (name === undefined) {
      throw new HoldfastError('INVALID_ARGUMENT', `The Flow ${compiled.plan.name} has no Step ${step?.name}.`);
    }
    await this.read(flowId, { kind: 'stepEnd', execution: `${name}-${number}` }, run, true);
  }

  private async outcome(flow: FlowClass, flowId: string, options: RunOptions): Promise<Outcome> {
    this.flow(flow);
    return (await this.read(flowId, { kind: 'outcome' }, options, true)) as Outcome;
  }

  private async request(flowId: string, command: ClientCommand, options: CallOptions): Promise<unknown> {
    checkId(flowId, 'flowId');
    return this.exchange.call(
      shardOf(flowId, this.parts.shards),
      (id, replyTo) => ({ kind: 'request', id, replyTo, flowId, command }),
      options,
      false,
    );
  }

  private async read(flowId: string, what: ReadWhat, options: RunOptions, waits = false): Promise<unknown> {
    checkId(flowId, 'flowId');
    const { runId, ...call } = options;
    return this.exchange.call(
      shardOf(flowId, this.parts.shards),
      (id, replyTo) => ({ kind: 'read', id, replyTo, flowId, runId: runId ?? null, what }),
      call,
      waits,
    );
  }

  private identity(requestId: string | undefined, content: unknown[]): { requestId: string; digest: string } {
    return { requestId: checkId(requestId ?? this.newId(), 'requestId'), digest: digest(encodeRecord(content)) };
  }

  private newId(): string {
    return clientIdPrefix + this.parts.ids.next();
  }

  private flow(type: FlowClass): CompiledFlow {
    const flow = this.parts.compiled.flowOf(type as unknown as Class);
    if (flow) return flow;
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `${type?.name ?? String(type)} is not one of the Flows given at opening.`,
      {
        fix: 'Add the class to `flows`.',
      },
    );
  }

  private channelName(flow: CompiledFlow, channel: ChannelClass | AttributeClass): string {
    const binding = flow.channelOf(channel as unknown as Class);
    if (binding) return binding.name;
    const name = channel?.name ?? String(channel);
    throw new HoldfastError('DEFINITION', `The Flow ${flow.plan.name} has no Channel ${name}.`, {
      fix: `Take ${name} in the constructor of the Flow or of one of its Steps.`,
    });
  }
}

function checkReuse(reuse: string): void {
  if (['reject', 'ifPreviousFailed', 'ifClosed', 'terminateRunning'].includes(reuse)) return;
  throw new HoldfastError('INVALID_ARGUMENT', `idReuse cannot be ${JSON.stringify(reuse)}.`);
}

function definedOf<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
