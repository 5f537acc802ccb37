import type { DataSource, EntityManager } from 'typeorm';
import { HoldfastError } from '../errors';
import type { Feeder, FlowIndex, IndexChanges, IndexedAttribute, IndexedRun, IndexQuery } from '../ports';
import { fenced, unknownFeeder } from '../search/feeder-errors';
import { createTables, openForEver, parentName } from './index-tables';
import { listStatement } from './list-statement';
import { type SqlDialect, SqlText, type SqlValue } from './sql-dialect';

/** Rows in one statement: databases limit the values that it may bind. */
const rowsPerStatement = 200;

interface RunRow {
  readonly run_id: string;
  readonly flow_id: string;
  readonly chain_id: string;
  readonly flow: string;
  readonly status: string;
  readonly started_at: number | string;
  readonly closed_at: number | string;
  readonly events: number | string;
  readonly blocked: string;
  readonly details: string;
}

/** What a row holds to be shown only, as JSON. */
interface Details {
  readonly failKind: string | null;
  readonly parents: readonly string[];
  readonly attributes: readonly Omit<IndexedAttribute, 'terms'>[];
}

/**
 * The end of what was begun on each database that takes one at a time. Such drivers wait for a lock by blocking the process,
 * also for one that the process itself holds.
 */
const turns = new Map<string, Promise<void>>();

/** An index in a SQL database, through TypeORM. */
export class SqlFlowIndex implements FlowIndex {
  private opening: Promise<void> | undefined;
  private closed = false;

  constructor(
    private readonly source: DataSource,
    private readonly dialect: SqlDialect,
    readonly location: string,
    /** Keeps systems in one database apart. */
    private readonly namespace: string,
  ) {}

  async takeOver(feeder: Feeder): Promise<boolean> {
    const { shard, feed, epoch } = feeder;
    const known = await this.transaction(async (run) => {
      const fed = this.sql().add`INSERT INTO holdfast_index_shards (namespace, shard, feed, epoch, batch)
        VALUES (${this.namespace}, ${shard}, ${''}, 0, 0) ON CONFLICT (namespace, shard)
        DO UPDATE SET batch = holdfast_index_shards.batch RETURNING feed, epoch`;
      const [before] = await run<{ feed: string; epoch: number | string }>(fed);
      const isKnown = before!.feed === feed;
      if (isKnown && Number(before!.epoch) > epoch) throw fenced(feeder);
      await run(this.sql().add`UPDATE holdfast_index_shards SET feed = ${feed}, epoch = ${epoch}, batch = 0
        WHERE namespace = ${this.namespace} AND shard = ${shard}`);
      await run(this.sql().add`UPDATE holdfast_index_runs SET blocked = ''
        WHERE namespace = ${this.namespace} AND shard = ${shard} AND blocked <> ''`);
      return isKnown;
    });
    return known;
  }

  async write(feeder: Feeder, batch: number, changes: IndexChanges): Promise<void> {
    const { shard, feed } = feeder;
    await this.transaction(async (run) => {
      await this.claim(run, feeder, batch);
      for (const part of chunks(changes.put)) await this.put(run, feeder, part);
      for (const runIds of chunks([...changes.remove])) {
        await this.deleteTerms(run, runIds);
        await run(this.sql().add`DELETE FROM holdfast_index_runs
          WHERE namespace = ${this.namespace} AND run_id IN ${runIds}`);
      }
      for (const runIds of chunks([...changes.keep])) {
        await run(this.sql().add`UPDATE holdfast_index_runs SET feed = ${feed}
          WHERE namespace = ${this.namespace} AND run_id IN ${runIds}`);
      }
      for (const [flowId, blocked] of changes.blocked) {
        await run(this.sql().add`UPDATE holdfast_index_runs SET blocked = ${blockedText(blocked)}
          WHERE namespace = ${this.namespace} AND flow_id = ${flowId} AND status = 'running'`);
      }
      if (!changes.sweep) return;
      await run(this.sql().add`DELETE FROM holdfast_index_terms WHERE namespace = ${this.namespace} AND run_id IN
        (SELECT run_id FROM holdfast_index_runs
          WHERE namespace = ${this.namespace} AND shard = ${shard} AND feed <> ${feed})`);
      await run(this.sql().add`DELETE FROM holdfast_index_runs
        WHERE namespace = ${this.namespace} AND shard = ${shard} AND feed <> ${feed}`);
    });
  }

  async list(query: IndexQuery): Promise<readonly IndexedRun[]> {
    const sql = listStatement(this.dialect, this.namespace, query);
    const rows = await this.guard(() => this.source.query<RunRow[]>(`${sql}`, sql.values));
    return rows.map(runOf);
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await turns.get(this.location);
    await this.opening?.catch(() => {});
    if (this.source.isInitialized) await this.source.destroy();
  }

  /** Locks the shard's row until the transaction ends; from here on only this feeder writes. */
  private async claim(run: Run, feeder: Feeder, batch: number): Promise<void> {
    const { shard, feed, epoch } = feeder;
    const claimed = await run(this.sql().add`UPDATE holdfast_index_shards SET batch = ${batch}
      WHERE namespace = ${this.namespace} AND shard = ${shard} AND feed = ${feed} AND epoch = ${epoch}
        AND batch < ${batch} RETURNING shard`);
    if (claimed.length > 0) return;
    const [row] = await run<{ feed: string; epoch: number | string }>(
      this.sql().add`SELECT feed, epoch FROM holdfast_index_shards
        WHERE namespace = ${this.namespace} AND shard = ${shard}`,
    );
    throw !row || (row.feed === feed && Number(row.epoch) < epoch) ? unknownFeeder(feeder) : fenced(feeder);
  }

  private async put(run: Run, { shard, feed }: Feeder, runs: readonly IndexedRun[]): Promise<void> {
    const sql =
      this.sql().raw(`INSERT INTO holdfast_index_runs (namespace, run_id, shard, feed, flow_id, chain_id, flow,
      status, started_at, closed_at, events, blocked, details) VALUES `);
    for (const [i, each] of runs.entries()) {
      if (i > 0) sql.raw(', ');
      const { runId, flowId, chainId, flow, status, startedAt, closedAt, events, blocked } = each;
      const values: SqlValue[] = [this.namespace, runId, shard, feed, flowId, chainId, flow, status, startedAt];
      values.push(closedAt ?? openForEver, events, blockedText(blocked), JSON.stringify(detailsOf(each)));
      sql.add`${values}`;
    }
    sql.raw(` ON CONFLICT (namespace, run_id) DO UPDATE SET feed = excluded.feed, status = excluded.status,
      closed_at = excluded.closed_at, events = excluded.events, blocked = excluded.blocked, details = excluded.details
      WHERE holdfast_index_runs.events <= excluded.events RETURNING run_id`);
    const written = new Set((await run<{ run_id: string }>(sql)).map(({ run_id }) => run_id));
    const older = runs.flatMap(({ runId }) => (written.has(runId) ? [] : [runId]));
    if (older.length > 0) {
      await run(this.sql().add`UPDATE holdfast_index_runs SET feed = ${feed}
        WHERE namespace = ${this.namespace} AND run_id IN ${older}`);
    }
    if (written.size === 0) return;
    await this.deleteTerms(run, [...written]);
    const terms = runs.flatMap((each) => (written.has(each.runId) ? termsOf(each) : []));
    for (const part of chunks(terms)) {
      const insert = this.sql().raw(
        'INSERT INTO holdfast_index_terms (namespace, run_id, name, text_term, number_term) VALUES ',
      );
      for (const [i, [runId, name, term]] of part.entries()) {
        if (i > 0) insert.raw(', ');
        const [text, number] = typeof term === 'string' ? [term, null] : [null, term];
        insert.add`${[this.namespace, runId, name, text, number]}`;
      }
      await run(insert);
    }
  }

  private async deleteTerms(run: Run, runIds: readonly string[]): Promise<void> {
    await run(this.sql().add`DELETE FROM holdfast_index_terms
      WHERE namespace = ${this.namespace} AND run_id IN ${runIds}`);
  }

  private sql(): SqlText {
    return new SqlText(this.dialect);
  }

  private transaction<T>(act: (run: Run) => Promise<T>): Promise<T> {
    return this.guard(() => this.source.transaction((manager) => act(runBy(manager))));
  }

  /** Makes the tables first, one at a time where it must be, and turns what the database throws into `INDEX_UNAVAILABLE`. */
  private async guard<T>(act: () => Promise<T>): Promise<T> {
    if (this.closed) throw new HoldfastError('CLOSED', `The index ${this.location} is closed.`);
    const acting = async () => {
      try {
        this.opening ??= this.open();
        await this.opening;
        return await act();
      } catch (cause) {
        // It may have lost its tables.
        this.opening = undefined;
        if (cause instanceof HoldfastError) throw cause;
        const what = cause instanceof Error ? cause.message : String(cause);
        throw new HoldfastError('INDEX_UNAVAILABLE', `The index ${this.location} failed: ${what}`, { cause });
      }
    };
    if (!this.dialect.oneAtATime) return acting();
    const turn = (turns.get(this.location) ?? Promise.resolve()).then(acting);
    const over = turn.then(
      () => {},
      () => {},
    );
    turns.set(this.location, over);
    over.then(() => {
      if (turns.get(this.location) === over) turns.delete(this.location);
    });
    return turn;
  }

  private async open(): Promise<void> {
    if (!this.source.isInitialized) await this.source.initialize();
    const { lockSchema } = this.dialect;
    await this.source.transaction(async (manager) => {
      if (lockSchema !== null) await manager.query(lockSchema);
      for (const statement of createTables(this.dialect)) await manager.query(statement);
    });
  }
}

type Run = <Row = unknown>(sql: SqlText) => Promise<Row[]>;

function runBy(manager: EntityManager): Run {
  return async <Row>(sql: SqlText) => {
    const result = await manager.query(`${sql}`, sql.values);
    // TypeORM gives rows and their number for UPDATE and DELETE on PostgreSQL.
    const rows = Array.isArray(result) && Array.isArray(result[0]) ? result[0] : result;
    return (Array.isArray(rows) ? rows : []) as Row[];
  };
}

function chunks<T>(items: readonly T[]): T[][] {
  const parts: T[][] = [];
  for (let i = 0; i < items.length; i += rowsPerStatement) parts.push(items.slice(i, i + rowsPerStatement));
  return parts;
}

function termsOf({ runId, parents, attributes }: IndexedRun): [runId: string, name: string, term: string | number][] {
  const ofAttributes = attributes.flatMap(({ name, terms }) => terms.map((term) => [name, term] as const));
  const ofParents = [...new Set(parents)].map((parent) => [parentName, parent] as const);
  return [...ofAttributes, ...ofParents].map(([name, term]) => [runId, name, term]);
}

function detailsOf({ failKind, parents, attributes }: IndexedRun): Details {
  return { failKind, parents, attributes: attributes.map(({ name, kind, shown }) => ({ name, kind, shown })) };
}

function blockedText(blocked: readonly string[]): string {
  return blocked.length === 0 ? '' : JSON.stringify(blocked);
}

function runOf(row: RunRow): IndexedRun {
  const { failKind, parents, attributes } = JSON.parse(row.details) as Details;
  const closedAt = Number(row.closed_at);
  return {
    flowId: row.flow_id,
    runId: row.run_id,
    chainId: row.chain_id,
    flow: row.flow,
    status: row.status,
    failKind,
    startedAt: Number(row.started_at),
    closedAt: closedAt === openForEver ? null : closedAt,
    parents,
    blocked: row.blocked === '' ? [] : JSON.parse(row.blocked),
    events: Number(row.events),
    attributes: attributes.map((each) => ({ ...each, terms: [] })),
  };
}
