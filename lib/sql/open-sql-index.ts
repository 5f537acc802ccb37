import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { DataSourceOptions } from 'typeorm';
import { HoldfastError } from '../errors';
import type { FlowIndex } from '../ports';
import { postgresDialect, sqliteDialect } from './sql-dialect';
import { SqlFlowIndex } from './sql-flow-index';

/** Options of a TypeORM `DataSource`, with what they hold besides its type. */
export interface SqlIndexOptions {
  readonly type: 'postgres' | 'better-sqlite3';
  readonly [option: string]: unknown;
}

/** Longest time for one statement; an index without an answer is tried again. */
const statementTimeoutMs = 10_000;

const accepted = 'postgres://user:password@host/database, sqlite:<file> or memory:';

/** Throws `INDEX_URL`. */
export async function openSqlIndex(address: string | SqlIndexOptions, namespace: string): Promise<FlowIndex> {
  const { DataSource } = await load('typeorm', () => import('typeorm'));
  const options = typeof address === 'string' ? optionsOf(address) : address;
  switch (options?.type) {
    case 'postgres': {
      await load('pg', () => import('pg'));
      const source = new DataSource({ ...withLimits(options), synchronize: false } as DataSourceOptions);
      return new SqlFlowIndex(source, postgresDialect, location(options), namespace);
    }
    case 'better-sqlite3': {
      const driver = options.driver ?? (await loadSqlite());
      const { database } = options;
      if (typeof database === 'string' && database !== ':memory:') await makeFolder(database);
      const source = new DataSource({
        enableWAL: true,
        prepareDatabase: (db: { pragma(text: string): unknown }) => {
          // What is indexed is struck off the list of what is not. Waiting for a lock blocks the process.
          db.pragma('synchronous = FULL');
          db.pragma('busy_timeout = 200');
        },
        ...options,
        driver,
        synchronize: false,
      } as DataSourceOptions);
      return new SqlFlowIndex(source, sqliteDialect, location(options), namespace);
    }
    default: {
      const found = typeof address === 'string' ? withoutSecrets(address) : JSON.stringify(address?.type);
      throw new HoldfastError('INDEX_URL', `${found} names no index. Accepted are ${accepted}.`);
    }
  }
}

function optionsOf(url: string): SqlIndexOptions | undefined {
  if (/^postgres(ql)?:\/\//i.test(url)) return { type: 'postgres', url };
  const [, file] = /^sqlite:(.+)$/is.exec(url) ?? [];
  return file === undefined ? undefined : { type: 'better-sqlite3', database: resolve(file) };
}

function withLimits(options: SqlIndexOptions): SqlIndexOptions {
  const extra = {
    max: 4,
    connectionTimeoutMillis: 5_000,
    query_timeout: statementTimeoutMs,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    ...(options.extra as object | undefined),
  };
  return { applicationName: 'holdfast', ...options, extra };
}

async function makeFolder(file: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HoldfastError('INDEX_URL', `The folder of sqlite:${file} cannot be made: ${why}`, { cause });
  }
}

/** Both have the same interface; the second comes prebuilt from the package registry. */
async function loadSqlite(): Promise<unknown> {
  const drivers = ['better-sqlite3', 'libsql'];
  for (const driver of drivers) {
    try {
      const loaded = await import(driver);
      return loaded.default ?? loaded;
    } catch {}
  }
  throw new HoldfastError(
    'INDEX_URL',
    'sqlite: needs the package better-sqlite3 or libsql, and neither can be loaded.',
    {
      fix: 'npm install better-sqlite3, or libsql where there is no compiler.',
    },
  );
}

async function load<T>(name: string, importing: () => Promise<T>): Promise<T> {
  try {
    return await importing();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split('\n', 1)[0] : String(cause);
    throw new HoldfastError('INDEX_URL', `The index needs the package ${name}, which cannot be loaded: ${why}`, {
      fix: `npm install ${name}`,
      cause,
    });
  }
}

function location(options: SqlIndexOptions): string {
  if (options.type === 'better-sqlite3') return `sqlite:${String(options.database)}`;
  if (typeof options.url === 'string') return withoutSecrets(options.url);
  const { host = 'localhost', port = 5432, database = '' } = options;
  return `postgres://${String(host)}:${String(port)}/${String(database)}`;
}

function withoutSecrets(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//').replace(/\?.*$/s, '');
}
