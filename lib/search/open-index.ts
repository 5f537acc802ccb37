import { HoldfastError } from '../errors';
import type { FlowIndex } from '../ports';
import { openSqlIndex, type SqlIndexOptions } from '../sql/open-sql-index';
import { MemoryFlowIndex } from './memory-flow-index';

/** `postgres://…`, `sqlite:<file>`, `memory:`, options of a TypeORM DataSource for one of the two, or an index. */
export type IndexAddress = string | SqlIndexOptions | FlowIndex;

const namespacePattern = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Opens the index that an address names; its database is reached when it is first used. `namespace` keeps systems in one
 * database apart. Throws `INDEX_URL` where no adapter is named or its packages cannot be loaded, `INVALID_ARGUMENT`.
 */
export async function openIndex(address: IndexAddress, namespace = 'default'): Promise<FlowIndex> {
  if (!namespacePattern.test(namespace)) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `The namespace of an index is 1 to 64 letters, digits, dots, hyphens and underscores, not ${JSON.stringify(namespace)}.`,
    );
  }
  if (typeof address === 'object' && 'takeOver' in address && typeof address.takeOver === 'function') {
    return address as FlowIndex;
  }
  if (typeof address === 'string' && address.toLowerCase() === 'memory:') return new MemoryFlowIndex();
  return openSqlIndex(address as string | SqlIndexOptions, namespace);
}
