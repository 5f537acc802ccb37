import type {
  AnyStep,
  AttributeClass,
  AttributeValue,
  ChannelClass,
  ChannelMessage,
  FlowClass,
  FlowInput,
  FlowOutput,
  RpcProxy,
} from '../authoring';
import type { Address, Payload, Started, StopHow } from '../core';
import type { ClientCommand } from '../dispatch';
import type { Outcome, RunDescription } from '../engine';
import { HoldfastError } from '../errors';
import type { Class } from '../ports';
import { AttributeValues } from './attribute-values';
import { type CheckOptions, type CodeReport, checkCode } from './code-check';
import { type FlowOutputEntry, type FlowResult, failureOf, onlyOutput, outputsOf } from './flow-outcome';
import { type HistoryOptions, readHistory } from './history';
import type { HistoryEvent } from './history-event';
import { lowerStart } from './lower-start';
import { type ClientParts, type OutgoingMessage, Requests, type RunOptions } from './requests';
import { rpcOf, startingRpcOf } from './rpc';
import { Schedules } from './schedules';
import { SearchClient } from './search/search-client';
import type { CallOptions, RequestOptions, TracedOptions } from './settings';
import { type ConfigOptions, lowerConfig, type StartArguments, type StartOptions } from './start-options';
import { type Moment, type TimeTravelOptions, timeTravel } from './time-travel';
import { type AttributeCondition, waitForAttribute, waitForOutcome, waitForStepEnd } from './waits';

/**
 * Starts Flows and asks about them (K). Every call rejects with a `HoldfastError` with a stable `code`; what changes
 * something is repeated by itself with the same id until it is answered, and is applied once.
 */
export class Client extends SearchClient {
  /** Starts Flows by a cron pattern or at an interval (F11). */
  readonly schedules: Schedules;

  constructor(parts: ClientParts) {
    super(new Requests(parts));
    this.schedules = new Schedules(this.requests);
  }

  /** Makes itself and the plans of its Flows known to every shard. */
  open(): Promise<void> {
    return this.requests.open();
  }

  /**
   * What open runs have and the code of this client lacks: Steps, Attributes and Channels (V2). Looks at every open run that
   * code with other plans has decided last.
   */
  check(options: CheckOptions = {}): Promise<CodeReport> {
    return checkCode(this.requests, options);
  }

  /** Rejects what is still waiting with `CLOSED`. Idempotent. */
  close(): void {
    this.requests.close();
  }

  /**
   * Starts a Flow under an id of the caller's; resolves when that is durable. A repeat with the same `requestId` gives the
   * first answer (F5). Throws `FLOW_ALREADY_EXISTS`, `ID_CONFLICT`, `INVALID_ID`, `VALUE_NOT_STORABLE`, `PAYLOAD_TOO_LARGE`.
   */
  async start<F extends FlowClass>(flow: F, flowId: string, ...[input, options]: StartArguments<F>): Promise<Started> {
    const { command, call } = lowerStart(this.requests, this.requests.flow(flow), input, options);
    return (await this.requests.send(flowId, command, call)) as Started;
  }

  /**
   * Starts the Flow if it is not running, and calls one of its RPCs: `startAndCall(Cart, 'c-1', input, (cart) => cart.add(x))`.
   * Validator and handler see the would-be first state; run and effects are saved in one write, and a rejection, an error or
   * a missing worker creates nothing (R10). Throws as `start` and as the RPC.
   */
  async startAndCall<F extends FlowClass, R>(
    flow: F,
    flowId: string,
    input: FlowInput<F>,
    call: (rpc: RpcProxy<InstanceType<F>>) => Promise<R>,
    options: StartOptions = {},
  ): Promise<R> {
    return call(startingRpcOf<F>(this.requests, flow, flowId, input, options));
  }

  /** Starts the Flow if it is not running, and publishes to it, in one write (R10). Throws as `start` and `publish`. */
  async startAndPublish<F extends FlowClass>(
    flow: F,
    flowId: string,
    input: FlowInput<F>,
    messages: readonly OutgoingMessage[],
    options: StartOptions = {},
  ): Promise<{ readonly runId: string; readonly started: boolean }> {
    const compiled = this.requests.flow(flow);
    const { command: start, call } = lowerStart(this.requests, compiled, input, options);
    const lowered = this.requests.messages(compiled, messages);
    const content = ['startAndPublish', start.digest, lowered.map(({ digest }) => digest)];
    const command = {
      kind: 'startAndPublish',
      ...this.requests.identity(options.requestId, content),
      ...{ plan: compiled.plan.fingerprint, start, messages: lowered },
    } as const;
    return (await this.requests.send(flowId, command, call)) as { runId: string; started: boolean };
  }

  /**
   * The RPCs and Queries of a Flow: `client.rpc(OrderFlow, 'o-1').approve('me')` (R1). Each call rejects with what the
   * handler threw as `cause` of `RPC_FAILED`, or of `RPC_REJECTED` where its validator turned it down; with `NO_WORKER`,
   * `DEADLINE_EXCEEDED`, `LOCK_CONFLICT`, `FLOW_CLOSING`, `FLOW_NOT_ACTIVE`, `FLOW_NOT_FOUND`. `requestId` is for one call.
   */
  rpc<F extends FlowClass>(flow: F, flowId: string, options: TracedOptions = {}): RpcProxy<InstanceType<F>> {
    return rpcOf<F>(this.requests, flow, flowId, options);
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
    return (await this.requests.read(flowId, { kind: 'describe' }, options)) as RunDescription;
  }

  /** The events of a run, oldest first. `from` is the number of the first [1], `limit` how many at most [all]. */
  history(flowId: string, options: HistoryOptions = {}): Promise<HistoryEvent[]> {
    return readHistory(this.requests, flowId, options);
  }

  /** The Attributes of an open or closed run; needs no worker (A5). */
  async attributes(flow: FlowClass, flowId: string, options: RunOptions = {}): Promise<AttributeValues> {
    const values = await this.requests.read(flowId, { kind: 'attributes' }, options);
    return new AttributeValues(this.requests.flow(flow), values as [Address, Payload][]);
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
    const compiled = this.requests.flow(flow);
    const { fingerprint: plan } = compiled.plan;
    await this.requests.send(
      flowId,
      { kind: 'publish', plan, messages: this.requests.messages(compiled, messages) },
      options,
    );
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
    const command: ClientCommand = {
      kind: 'stop',
      ...this.requests.identity(requestId, ['stop', how, reason]),
      how,
      reason,
    };
    return (await this.requests.send(flowId, command, call)) as { status: string };
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
    const identity = this.requests.identity(requestId, ['skipTimer', stepExecutionId, timer ?? null]);
    await this.requests.send(
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
    const identity = this.requests.identity(requestId, ['updateConfig', lowered]);
    await this.requests.send(flowId, { kind: 'updateConfig', ...identity, config: lowered }, call);
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
    const compiled = this.requests.flow(flow);
    const name = compiled.stepName(step as unknown as Class);
    if (name === undefined) {
      throw new HoldfastError('INVALID_ARGUMENT', `The Flow ${compiled.plan.name} has no Step ${step?.name}.`);
    }
    await waitForStepEnd(this.requests, flowId, `${name}-${number}`, run);
  }

  /**
   * Resolves when an Attribute, of a map that of `key`, satisfies a predicate or equals a value, and gives its value: of an
   * open or closed run, over continue-as-new, with no worker there, and only what is durable (P4). It is looked at when it
   * has been written; a value that another soon replaces may be passed over. Throws `ATTRIBUTE_NOT_REACHED` when the run
   * closes without it, and what the predicate throws.
   */
  async waitForAttribute<A extends AttributeClass>(
    flow: FlowClass,
    flowId: string,
    attribute: A,
    condition: AttributeCondition<A>,
    options: RunOptions & { readonly key?: string } = {},
  ): Promise<AttributeValue<A>> {
    return waitForAttribute(this.requests, this.requests.flow(flow), flowId, attribute, condition, options);
  }

  /**
   * Goes back in time: a new run of the flowId begins from the state of that moment, and an open one is terminated in the same
   * write; the histories of both stay, and `result` follows to the new one. Calls that were with a worker are made anew, with
   * other idempotency keys; timers keep their deadlines; SubFlows that are still there are attached again. Messages and RPCs
   * that clients have sent since are applied again, unless `reapply` is false. A repeat with the same `requestId` gives the
   * first answer (K4). Throws `HISTORY_GONE`, `STEP_NOT_FOUND`, `FLOW_NOT_FOUND`, `FLOW_NOT_ACTIVE`, `INVALID_ARGUMENT`.
   */
  async timeTravel(flowId: string, to: Moment, options: TimeTravelOptions = {}): Promise<Started> {
    return timeTravel(this.requests, flowId, to, options);
  }

  private outcome(flow: FlowClass, flowId: string, options: RunOptions): Promise<Outcome> {
    this.requests.flow(flow);
    return waitForOutcome(this.requests, flowId, options);
  }
}

function definedOf<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
