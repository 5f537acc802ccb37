import type { IndexFilter, IndexQuery, IndexRange, TermTest } from '../ports';
import { openForEver, parentName } from './index-tables';
import { type SqlDialect, SqlText } from './sql-dialect';

const columns = { startedAt: 'started_at', closedAt: 'closed_at', flowId: 'flow_id' } as const;
const fields = {
  flow: 'flow',
  status: 'status',
  flowId: 'flow_id',
  runId: 'run_id',
  chainId: 'chain_id',
} as const;

/** Above all texts that begin with what it is put behind, but for those that use this noncharacter. */
const afterAll = '\u{10FFFF}';

/** The statement that reads one page. */
export function listStatement(dialect: SqlDialect, namespace: string, query: IndexQuery): SqlText {
  const { filters, orderBy, descending, after, limit } = query;
  const column = columns[orderBy];
  const sql = new SqlText(dialect).add`SELECT * FROM holdfast_index_runs r WHERE r.namespace = ${namespace}`;
  if (orderBy === 'closedAt') sql.add` AND r.closed_at < ${openForEver}`;
  for (const filter of filters) {
    sql.raw(' AND ');
    addFilter(sql, filter);
  }
  if (after) {
    sql.raw(` AND (r.${column}, r.run_id) ${descending ? '<' : '>'} (`).add`${after.key}, ${after.runId})`;
  }
  const direction = descending ? 'DESC' : 'ASC';
  return sql.raw(` ORDER BY r.${column} ${direction}, r.run_id ${direction}`).add` LIMIT ${limit}`;
}

function addFilter(sql: SqlText, filter: IndexFilter): void {
  switch (filter.kind) {
    case 'all':
    case 'any':
      return addSeveral(sql, filter.of, filter.kind);
    case 'not':
      sql.raw('NOT (');
      addFilter(sql, filter.of);
      sql.raw(')');
      return;
    case 'is':
      if (filter.field === 'parent') return addTerm(sql, [parentName], { kind: 'is', terms: filter.values });
      if (filter.values.length === 0) sql.raw('1 = 0');
      else sql.raw(`r.${fields[filter.field]} IN `).add`${filter.values}`;
      return;
    case 'startsWith':
      sql.add`(r.flow_id >= ${filter.prefix} AND r.flow_id < ${filter.prefix + afterAll})`;
      return;
    case 'range':
      sql.raw('(');
      addRange(sql, `r.${columns[filter.field]}`, filter.range);
      if (filter.field === 'closedAt') sql.add` AND r.closed_at < ${openForEver}`;
      sql.raw(')');
      return;
    case 'blocked':
      sql.raw(filter.is ? "r.blocked <> ''" : "r.blocked = ''");
      return;
    case 'attribute':
      return addTerm(sql, filter.names, filter.test);
  }
}

function addSeveral(sql: SqlText, filters: readonly IndexFilter[], kind: 'all' | 'any'): void {
  if (filters.length === 0) {
    sql.raw(kind === 'all' ? '1 = 1' : '1 = 0');
    return;
  }
  sql.raw('(');
  for (const [i, filter] of filters.entries()) {
    if (i > 0) sql.raw(kind === 'all' ? ' AND ' : ' OR ');
    addFilter(sql, filter);
  }
  sql.raw(')');
}

function addTerm(sql: SqlText, names: readonly string[], test: TermTest | null): void {
  sql.raw('EXISTS (SELECT 1 FROM holdfast_index_terms t WHERE t.namespace = r.namespace AND t.run_id = r.run_id');
  sql.add` AND t.name IN ${names}`;
  if (test?.kind === 'is') {
    if (test.terms.length === 0) sql.raw(' AND 1 = 0');
    else {
      sql.raw(typeof test.terms[0] === 'number' ? ' AND t.number_term IN ' : ' AND t.text_term IN ');
      sql.add`${test.terms}`;
    }
  } else if (test?.kind === 'startsWith') {
    sql.add` AND t.text_term >= ${test.prefix} AND t.text_term < ${test.prefix + afterAll}`;
  } else if (test) {
    sql.raw(' AND ');
    addRange(sql, 't.number_term', test.range);
  }
  sql.raw(')');
}

function addRange(sql: SqlText, column: string, { atLeast, above, atMost, below }: IndexRange): void {
  sql.raw(`${column} IS NOT NULL`);
  if (atLeast !== undefined) sql.raw(` AND ${column} >= `).add`${atLeast}`;
  if (above !== undefined) sql.raw(` AND ${column} > `).add`${above}`;
  if (atMost !== undefined) sql.raw(` AND ${column} <= `).add`${atMost}`;
  if (below !== undefined) sql.raw(` AND ${column} < `).add`${below}`;
}
