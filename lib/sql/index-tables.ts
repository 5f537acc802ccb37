import type { SqlDialect } from './sql-dialect';

/** Stands for a run that is open, so that its row has a place in the order. */
export const openForEver = Number.MAX_SAFE_INTEGER;

/** The name under which the flowIds of parents stand among the terms; no Attribute has it. */
export const parentName = '';

/**
 * The tables of the index. `holdfast_index_shards` says who feeds a shard, `holdfast_index_runs` has a row per run, and
 * `holdfast_index_terms` what its indexed Attributes are found by.
 */
export function createTables({ text, integer, number }: SqlDialect): string[] {
  return [
    `CREATE TABLE IF NOT EXISTS holdfast_index_shards (
      namespace ${text} NOT NULL, shard integer NOT NULL, feed ${text} NOT NULL, epoch ${integer} NOT NULL,
      batch ${integer} NOT NULL, PRIMARY KEY (namespace, shard))`,
    `CREATE TABLE IF NOT EXISTS holdfast_index_runs (
      namespace ${text} NOT NULL, run_id ${text} NOT NULL, shard integer NOT NULL, feed ${text} NOT NULL,
      flow_id ${text} NOT NULL, chain_id ${text} NOT NULL, flow ${text} NOT NULL, status ${text} NOT NULL,
      started_at ${integer} NOT NULL, closed_at ${integer} NOT NULL, events ${integer} NOT NULL,
      blocked ${text} NOT NULL, details text NOT NULL, PRIMARY KEY (namespace, run_id))`,
    `CREATE TABLE IF NOT EXISTS holdfast_index_terms (
      namespace ${text} NOT NULL, run_id ${text} NOT NULL, name ${text} NOT NULL, text_term ${text},
      number_term ${number})`,
    index('runs', 'started', 'namespace, started_at, run_id'),
    index('runs', 'closed', 'namespace, closed_at, run_id'),
    index('runs', 'flow_id', 'namespace, flow_id, run_id'),
    index('runs', 'chain', 'namespace, chain_id'),
    index('runs', 'flow', 'namespace, flow, status, started_at, run_id'),
    index('runs', 'status', 'namespace, status, started_at, run_id'),
    index('runs', 'feed', 'namespace, shard, feed'),
    index('terms', 'run', 'namespace, run_id'),
    index('terms', 'text', 'namespace, name, text_term, run_id'),
    index('terms', 'number', 'namespace, name, number_term, run_id'),
    `CREATE INDEX IF NOT EXISTS holdfast_index_runs_by_blocked ON holdfast_index_runs (namespace, shard)
      WHERE blocked <> ''`,
  ];
}

function index(table: string, name: string, columns: string): string {
  return `CREATE INDEX IF NOT EXISTS holdfast_index_${table}_by_${name} ON holdfast_index_${table} (${columns})`;
}
