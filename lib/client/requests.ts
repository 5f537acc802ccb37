import type { ChannelClass, FlowClass } from '../authoring';
import type { Compiled, CompiledFlow } from '../compiler';
import { addressOf, clientIdPrefix, type PublishCommand } from '../core';
import type { CallRequest, ClientCommand, HoldfastDispatch, IndexAsk, ReadWhat } from '../dispatch';
import { HoldfastError } from '../errors';
import type { Class, Clock, FlowIndex, Ids } from '../ports';
import { checkId, digest, encode, encodeRecord, shardOf } from '../values';
import { durationMs } from '../values/duration';
import { aborted, defaultDeadlineMs, Exchange, tooLate } from './exchange';
import type { CallOptions } from './settings';

export interface ClientParts {
  /** Names this process; new for each. */
  readonly process: string;
  readonly compiled: Compiled;
  readonly dispatch: HoldfastDispatch;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly shards: number;
  /** Where runs are searched for. */
  readonly index?: FlowIndex | undefined;
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

/** Makes requests by names and bytes, gives each its id, and sends it to the shard of its flowId. */
export class Requests {
  private readonly exchange: Exchange;

  constructor(private readonly parts: ClientParts) {
    const introduce = (shard: number) => void this.introduce(shard).catch(() => {});
    this.exchange = new Exchange(parts.process, parts.dispatch, parts.clock, parts.ids, introduce);
  }

  get shards(): number {
    return this.parts.shards;
  }

  async open(): Promise<void> {
    this.exchange.open();
    await Promise.all(Array.from({ length: this.parts.shards }, (_, shard) => this.introduce(shard)));
  }

  private introduce(shard: number): Promise<void> {
    const { compiled, dispatch, process } = this.parts;
    const plans = [...compiled.flows.values()].map(({ plan }) => plan);
    return dispatch.send(shard, { kind: 'introduce', process, plans, worker: null });
  }

  close(): void {
    this.exchange.close();
  }

  async send(flowId: string, command: ClientCommand, options: CallOptions): Promise<unknown> {
    return this.sendTo(checkId(flowId, 'flowId'), command, options);
  }

  /** As `send`, to a flowId of the library's own too. */
  sendTo(flowId: string, command: ClientCommand, options: CallOptions): Promise<unknown> {
    return this.exchange.call(
      shardOf(flowId, this.parts.shards),
      (id, replyTo) => ({ kind: 'request', id, replyTo, flowId, command }),
      options,
      false,
    );
  }

  /** Calls an RPC or Query. `planned` is the deadline its plan gives it. */
  async call(flowId: string, command: CallRequest['command'], options: CallOptions, planned: number): Promise<unknown> {
    checkId(flowId, 'flowId');
    const deadlineMs = options.deadline === undefined ? planned : durationMs(options.deadline, 'deadline');
    return this.exchange.call(
      shardOf(flowId, this.parts.shards),
      (id, replyTo) => ({ kind: 'call', id, replyTo, flowId, command, deadlineMs }),
      // The owner of the shard knows best why there is no answer, so it has the first word.
      { ...options, deadline: deadlineMs + 1_000 },
      false,
    );
  }

  async read(flowId: string, what: ReadWhat, options: RunOptions, waits = false): Promise<unknown> {
    return this.readFrom(checkId(flowId, 'flowId'), what, options, waits);
  }

  /** As `read`, from a flowId of the library's own too. */
  readFrom(flowId: string, what: ReadWhat, { runId, ...call }: RunOptions, waits = false): Promise<unknown> {
    return this.exchange.call(
      shardOf(flowId, this.parts.shards),
      (id, replyTo) => ({ kind: 'read', id, replyTo, flowId, runId: runId ?? null, what }),
      call,
      waits,
    );
  }

  /** The options of one call after another, which together have the deadline that is given. */
  timeLeft({ signal, deadline }: CallOptions): () => CallOptions {
    const { clock } = this.parts;
    const until = deadline === undefined ? null : clock.monotonic() + durationMs(deadline, 'deadline');
    return () => ({
      ...(signal && { signal }),
      ...(until !== null && { deadline: Math.max(0, until - clock.monotonic()) }),
    });
  }

  /** Reads from a shard what is of no one flowId. */
  readShard(shard: number, what: ReadWhat, options: CallOptions): Promise<unknown> {
    return this.exchange.call(
      shard,
      (id, replyTo) => ({ kind: 'read', id, replyTo, flowId: '', runId: null, what }),
      options,
      false,
    );
  }

  /** Asks all shards about their part of the index; each answers when it is done. */
  askIndex(ask: IndexAsk, options: CallOptions, waits = false): Promise<unknown[]> {
    const shards = Array.from({ length: this.parts.shards }, (_, shard) => shard);
    const asked = shards.map((shard) =>
      this.exchange.call(shard, (id, replyTo) => ({ kind: 'index', id, replyTo, ask }), options, waits),
    );
    return Promise.all(asked);
  }

  /** Waits no longer than the options say. Rejects with `DEADLINE_EXCEEDED`, or `ABORTED`. */
  async within<T>(work: Promise<T>, { signal, deadline = defaultDeadlineMs }: CallOptions): Promise<T> {
    if (signal?.aborted) throw aborted(signal);
    const ends: (() => void)[] = [];
    try {
      return await new Promise<T>((resolve, reject) => {
        const deadlineMs = durationMs(deadline, 'deadline');
        work.then(resolve, reject);
        ends.push(this.parts.clock.after(deadlineMs, () => reject(tooLate(deadlineMs))));
        const abort = () => reject(aborted(signal!));
        signal?.addEventListener('abort', abort, { once: true });
        ends.push(() => signal?.removeEventListener('abort', abort));
      });
    } finally {
      for (const end of ends) end();
    }
  }

  get now(): number {
    return this.parts.clock.now();
  }

  get compiled(): Compiled {
    return this.parts.compiled;
  }

  /** Throws `NO_INDEX`. */
  get index(): FlowIndex {
    if (this.parts.index) return this.parts.index;
    throw new HoldfastError('NO_INDEX', 'There is nothing to search: this client was opened without an index.');
  }

  identity(requestId: string | undefined, content: unknown[]): { requestId: string; digest: string } {
    return { requestId: checkId(requestId ?? this.newId(), 'requestId'), digest: digest(encodeRecord(content)) };
  }

  newId(): string {
    return clientIdPrefix + this.parts.ids.next();
  }

  newRunId(): string {
    return this.parts.ids.next();
  }

  /** Throws `INVALID_ARGUMENT` for a Flow that was not given at opening. */
  flow(type: FlowClass): CompiledFlow {
    const flow = this.parts.compiled.flowOf(type as unknown as Class);
    if (flow) return flow;
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `${type?.name ?? String(type)} is not one of the Flows given at opening.`,
      { fix: 'Add the class to `flows`.' },
    );
  }

  messages(flow: CompiledFlow, outgoing: readonly OutgoingMessage[]): PublishCommand['messages'] {
    return outgoing.map(({ channel, key, value, messageId }) => {
      const address = addressOf(channelName(flow, channel), key);
      const payload = encode(value, `message for ${channel.name}`);
      const id = checkId(messageId ?? this.newId(), 'messageId');
      return { id, digest: digest('publish', address, payload), address, value: payload };
    });
  }
}

function channelName(flow: CompiledFlow, channel: ChannelClass): string {
  const binding = flow.channelOf(channel as unknown as Class);
  if (binding) return binding.name;
  const name = channel?.name ?? String(channel);
  throw new HoldfastError('DEFINITION', `The Flow ${flow.plan.name} has no Channel ${name}.`, {
    fix: `Take ${name} in the constructor of the Flow or of one of its Steps.`,
  });
}
