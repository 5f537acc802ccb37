import type { ChannelClass, ChannelMessage, FlowClass } from '../../authoring';
import type { StopHow } from '../../core';
import type { IndexState } from '../../engine';
import { HoldfastError } from '../../errors';
import type { IndexFilter, IndexQuery } from '../../ports';
import { checkId } from '../../values';
import type { Requests } from '../requests';
import type { CallOptions } from '../settings';
import { entryOf, type FlowEntry, type FlowPage } from './flow-entry';
import { cursorOf, type FlowConditions, type FlowQuery, lowerQuery } from './flow-query';

export interface ListOptions extends CallOptions {
  /** Waits until all that was saved before is in the index, for a rebuild too; fails where it takes nothing [false]. */
  readonly fresh?: boolean;
}

export interface BatchOptions extends CallOptions {
  /** The same batch again touches each Flow once, within 24 h [a new one]. */
  readonly batchId?: string;
  /** Flows at a time [20]. */
  readonly parallel?: number;
}

/** What open runs have to be like. */
export type OpenConditions = Omit<FlowConditions, 'status' | 'closedAt'>;

/** What became of the Flows of a batch. */
export interface BatchReport {
  /** For another try of those that failed. */
  readonly batchId: string;
  readonly matched: number;
  readonly done: number;
  /** They had closed meanwhile. */
  readonly unchanged: number;
  readonly failed: readonly { readonly flowId: string; readonly runId: string; readonly error: HoldfastError }[];
}

const flowsPerPage = 200;
const longestBatchId = 400;
/** Clocks of hosts may differ by this much (W6). */
const clockDifferenceMs = 1_000;

/** The part of a client that finds Flows by what they hold, and acts on all it has found. */
export abstract class SearchClient {
  protected constructor(protected readonly requests: Requests) {}

  /**
   * A page of runs, open and closed, by name, status, times, parent and indexed Attributes (A4, K1). The order is total and
   * a run keeps its place in it: one that is there and fits from the first page to the last comes exactly once, whatever
   * comes and goes meanwhile. The index follows what is saved by a moment. Throws `NO_INDEX`, `INDEX_UNAVAILABLE`,
   * `INVALID_ARGUMENT`.
   */
  async list(query: FlowQuery = {}, options: ListOptions = {}): Promise<FlowPage> {
    const { index } = this.requests;
    const { query: lowered, digest } = lowerQuery(query, this.requests.compiled);
    if (options.fresh) await this.requests.askIndex({ kind: 'settle' }, options);
    const found = await this.requests.within(index.list({ ...lowered, limit: lowered.limit + 1 }), options);
    const page = found.slice(0, lowered.limit);
    const last = page[page.length - 1];
    const next = found.length > page.length ? cursorOf(digest, last![lowered.orderBy]!, last!.runId) : null;
    return { flows: page.map(entryOf), next };
  }

  /** All runs that fit, page by page; see `list`. `limit` is the size of a page. */
  async *listAll(query: FlowQuery = {}, options: ListOptions = {}): AsyncGenerator<FlowEntry, void> {
    let cursor = query.cursor ?? null;
    let page = options;
    do {
      const { flows, next } = await this.list({ ...query, cursor }, page);
      yield* flows;
      cursor = next;
      page = { ...options, fresh: false };
    } while (cursor !== null);
  }

  /**
   * Stops all open runs that fit and had started when it began; see `stop` and `list`. A run is stopped once however often
   * the batch is repeated with its id, and one that a new run has replaced is left alone. Never rejects for a single Flow.
   */
  async stopWhere(
    conditions: OpenConditions,
    how: StopHow,
    reason: string,
    options: BatchOptions = {},
  ): Promise<BatchReport> {
    if (how !== 'cancel' && how !== 'fail' && how !== 'terminate') {
      throw new HoldfastError(
        'INVALID_ARGUMENT',
        `stopWhere takes cancel, fail or terminate, not ${JSON.stringify(how)}.`,
      );
    }
    const closed = { cancel: 'cancelled', fail: 'failed', terminate: 'terminated' }[how];
    return this.batch(conditions, options, async ({ flowId, chainId }, id) => {
      const identity = this.requests.identity(id, ['stop', how, reason, chainId]);
      const { status } = (await this.requests.send(
        flowId,
        { kind: 'stop', ...identity, how, reason, chainId },
        options,
      )) as {
        status: string;
      };
      return status === 'running' || status === closed;
    });
  }

  /**
   * Publishes a message to all open runs of a Flow that fit and had started when it began; see `publish` and `list`. Each gets
   * it once however often the batch is repeated with its id. Never rejects for a single Flow.
   */
  async publishWhere<C extends ChannelClass>(
    flow: FlowClass,
    conditions: Omit<OpenConditions, 'flow'>,
    channel: C,
    value: ChannelMessage<C>,
    options: BatchOptions & { readonly key?: string } = {},
  ): Promise<BatchReport> {
    const compiled = this.requests.flow(flow);
    const { fingerprint: plan } = compiled.plan;
    const { key } = options;
    const [message] = this.requests.messages(compiled, [{ channel, value, ...(key !== undefined && { key }) }]);
    return this.batch({ ...conditions, flow }, options, async ({ flowId, chainId }, id) => {
      const messages = [{ ...message!, id: checkId(id, 'messageId') }];
      await this.requests.send(flowId, { kind: 'publish', plan, messages, chainId }, options);
      return true;
    });
  }

  /** How far the index of each shard is behind what is saved. Throws `NO_INDEX` where an engine has none. */
  async indexState(options: CallOptions = {}): Promise<readonly IndexState[]> {
    return (await this.requests.askIndex({ kind: 'state' }, options)) as IndexState[];
  }

  /**
   * Writes the whole index anew from the stores, beside what goes on; resolves when it is done. Searches find everything
   * meanwhile. A take-over goes on with it. Throws `NO_INDEX` where an engine has none.
   */
  async rebuildIndex(options: CallOptions = {}): Promise<readonly IndexState[]> {
    const feed = this.requests.newRunId();
    return (await this.requests.askIndex({ kind: 'rebuild', feed }, options, true)) as IndexState[];
  }

  private async batch(
    conditions: OpenConditions,
    { batchId = this.requests.newId(), parallel = 20, ...call }: BatchOptions,
    act: (flow: FlowEntry, id: string) => Promise<boolean>,
  ): Promise<BatchReport> {
    const { index } = this.requests;
    checkId(batchId, 'batchId');
    if (Buffer.byteLength(batchId) > longestBatchId) {
      throw new HoldfastError('INVALID_ID', `The batchId has more than ${longestBatchId} bytes.`);
    }
    if (!Number.isInteger(parallel) || parallel < 1) {
      throw new HoldfastError('INVALID_ARGUMENT', `parallel is a whole number from 1, not ${parallel}.`);
    }
    const report = { matched: 0, done: 0, unchanged: 0 };
    const failed: BatchReport['failed'][number][] = [];
    const touch = async (flow: FlowEntry) => {
      report.matched++;
      try {
        if (await act(flow, `${batchId}/${flow.chainId}`)) report.done++;
        else report.unchanged++;
      } catch (error) {
        if (!(error instanceof HoldfastError) || error.code === 'ABORTED') throw error;
        if (closedMeanwhile.has(error.code)) report.unchanged++;
        else failed.push({ flowId: flow.flowId, runId: flow.runId, error });
      }
    };
    const query = lowerQuery(
      { ...conditions, status: 'running', orderBy: 'startedAt', direction: 'asc', limit: flowsPerPage },
      this.requests.compiled,
    ).query;
    // What starts meanwhile is not meant, and would make it endless.
    const until: IndexFilter = {
      kind: 'range',
      field: 'startedAt',
      range: { atMost: this.requests.now + clockDifferenceMs },
    };
    await this.requests.askIndex({ kind: 'settle' }, call);
    let after: IndexQuery['after'] = null;
    for (;;) {
      const page: IndexQuery = { ...query, filters: [...query.filters, until], after };
      const runs = await this.requests.within(index.list(page), call);
      const flows = runs.map(entryOf);
      const lanes = Array.from({ length: parallel }, async () => {
        for (let flow = flows.shift(); flow; flow = flows.shift()) await touch(flow);
      });
      await Promise.all(lanes);
      if (runs.length < flowsPerPage) break;
      const last = runs[runs.length - 1]!;
      after = { key: last.startedAt, runId: last.runId };
    }
    return { batchId, ...report, failed };
  }
}

const closedMeanwhile: ReadonlySet<string> = new Set(['FLOW_NOT_ACTIVE', 'FLOW_NOT_FOUND', 'FLOW_CLOSING']);
