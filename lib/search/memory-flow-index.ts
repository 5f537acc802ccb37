import type {
  Feeder,
  FlowIndex,
  IndexChanges,
  IndexedRun,
  IndexFilter,
  IndexOrder,
  IndexQuery,
  IndexRange,
  TermTest,
} from '../ports';
import { fenced, unknownFeeder } from './feeder-errors';

interface Row {
  run: IndexedRun;
  shard: number;
  feed: string;
}

/** An index in this process, for tests and small systems: it is filled from the store when it is opened. */
export class MemoryFlowIndex implements FlowIndex {
  readonly location = 'memory:';
  private readonly rows = new Map<string, Row>();
  private readonly feeders = new Map<number, Feeder & { batch: number }>();

  async takeOver(feeder: Feeder): Promise<boolean> {
    const before = this.feeders.get(feeder.shard);
    const isKnown = before?.feed === feeder.feed;
    if (isKnown && before.epoch > feeder.epoch) throw fenced(feeder);
    this.feeders.set(feeder.shard, { ...feeder, batch: 0 });
    for (const row of this.rows.values()) {
      if (row.shard === feeder.shard) row.run = { ...row.run, blocked: [] };
    }
    return isKnown;
  }

  async write(feeder: Feeder, batch: number, changes: IndexChanges): Promise<void> {
    const { shard, feed, epoch } = feeder;
    const known = this.feeders.get(shard);
    if (!known || (known.feed === feed && known.epoch < epoch)) throw unknownFeeder(feeder);
    if (known.feed !== feed || known.epoch > epoch || known.batch >= batch) throw fenced(feeder);
    known.batch = batch;
    for (const run of changes.put) {
      const before = this.rows.get(run.runId);
      if (before && before.run.events > run.events) before.feed = feed;
      else this.rows.set(run.runId, { run, shard, feed });
    }
    for (const runId of changes.keep) {
      const row = this.rows.get(runId);
      if (row) row.feed = feed;
    }
    for (const runId of changes.remove) this.rows.delete(runId);
    const blocked = new Map(changes.blocked);
    for (const [runId, row] of this.rows) {
      if (changes.sweep && row.shard === shard && row.feed !== feed) this.rows.delete(runId);
      const now = row.run.status === 'running' ? blocked.get(row.run.flowId) : undefined;
      if (now) row.run = { ...row.run, blocked: now };
    }
  }

  async list({ filters, orderBy, descending, after, limit }: IndexQuery): Promise<readonly IndexedRun[]> {
    const sign = descending ? -1 : 1;
    const place = (a: Place, b: Place) => sign * (compare(a.key, b.key) || compare(a.runId, b.runId));
    return [...this.rows.values()]
      .map(({ run }) => ({ run, key: keyOf(run, orderBy), runId: run.runId }))
      .filter((each): each is typeof each & Place => each.key !== null && filters.every((f) => holds(f, each.run)))
      .filter((each) => after === null || place(each, after) > 0)
      .sort(place)
      .slice(0, limit)
      .map(({ run }) => run);
  }

  async close(): Promise<void> {}
}

interface Place {
  readonly key: string | number;
  readonly runId: string;
}

function keyOf(run: IndexedRun, orderBy: IndexOrder): string | number | null {
  return run[orderBy];
}

/** As databases do: texts by their bytes. */
function compare(a: string | number, b: string | number): number {
  if (typeof a === 'number' || typeof b === 'number') return Number(a) - Number(b);
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function holds(filter: IndexFilter, run: IndexedRun): boolean {
  switch (filter.kind) {
    case 'all':
      return filter.of.every((each) => holds(each, run));
    case 'any':
      return filter.of.some((each) => holds(each, run));
    case 'not':
      return !holds(filter.of, run);
    case 'is':
      return filter.field === 'parent'
        ? run.parents.some((parent) => filter.values.includes(parent))
        : filter.values.includes(run[filter.field]);
    case 'startsWith':
      return run.flowId.startsWith(filter.prefix);
    case 'range': {
      const at = run[filter.field];
      return at !== null && isIn(filter.range, at);
    }
    case 'blocked':
      return run.blocked.length > 0 === filter.is;
    case 'attribute':
      return run.attributes.some(
        ({ name, terms }) =>
          filter.names.includes(name) && terms.some((term) => filter.test === null || passes(filter.test, term)),
      );
  }
}

function passes(test: TermTest, term: string | number): boolean {
  if (test.kind === 'is') return test.terms.includes(term);
  if (test.kind === 'startsWith') return typeof term === 'string' && term.startsWith(test.prefix);
  return typeof term === 'number' && isIn(test.range, term);
}

function isIn({ atLeast, above, atMost, below }: IndexRange, value: number): boolean {
  return (
    (atLeast === undefined || value >= atLeast) &&
    (above === undefined || value > above) &&
    (atMost === undefined || value <= atMost) &&
    (below === undefined || value < below)
  );
}
