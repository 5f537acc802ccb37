/** What a caller can do about an error; see `HoldfastError.kind`. */
export type ErrorKind = 'definition' | 'usage' | 'conflict' | 'fenced' | 'transient' | 'rejected' | 'corrupt';

export interface CatalogueEntry {
  /** The error's `name`, as it appears in logs and in stored failures. */
  readonly name: string;
  readonly kind: ErrorKind;
  readonly meaning: string;
  readonly fix: string;
}

/** Every error code of the library: the one place from which `docs/errors.md` is made. Codes are never reused. */
export const catalogue = {
  COMPILE_FAILED: {
    name: 'CompileError',
    kind: 'definition',
    meaning: 'The annotated classes do not make a valid set of Flows; `findings` lists everything that is wrong.',
    fix: 'Go through the findings: each says where, what was found, what was expected and how to fix it.',
  },
  DEFINITION: {
    name: 'DefinitionError',
    kind: 'definition',
    meaning: 'A method returned, or asked for, something its Flow does not declare. It is not retried.',
    fix: 'Change the Step as the message says; the run takes its failure route.',
  },
  VALUE_NOT_STORABLE: {
    name: 'NotStorableError',
    kind: 'definition',
    meaning: 'A value cannot be kept: a function, a symbol, a class instance without a codec, or a cycle.',
    fix: 'Store plain data, or give the Attribute a codec.',
  },
  PAYLOAD_TOO_LARGE: {
    name: 'PayloadTooLargeError',
    kind: 'definition',
    meaning: 'A value is above the payload limit of 4 MiB. Nothing of the command or result was saved.',
    fix: 'Keep large data elsewhere and store a reference to it.',
  },
  LIMIT_EXCEEDED: {
    name: 'LimitExceededError',
    kind: 'definition',
    meaning: 'A command or result is above a documented limit. It was refused whole.',
    fix: 'Split it, or see the limits in docs/guarantees.md.',
  },
  INVALID_DURATION: {
    name: 'InvalidDurationError',
    kind: 'definition',
    meaning: 'A duration is negative, NaN, infinite or not understood.',
    fix: "Give milliseconds from 0 on, or a text such as '500ms', '30s', '24h', '7d'.",
  },
  INVALID_ID: {
    name: 'InvalidIdError',
    kind: 'usage',
    meaning: 'An id is empty, longer than 512 bytes of UTF-8, or holds NUL or a lone surrogate.',
    fix: 'Use a non-empty Unicode string of at most 512 bytes.',
  },
  INVALID_ARGUMENT: {
    name: 'InvalidArgumentError',
    kind: 'usage',
    meaning: 'An argument of a call is not what the call takes.',
    fix: 'Change the call as the message says.',
  },
  OUTSIDE_INVOCATION: {
    name: 'OutsideInvocationError',
    kind: 'usage',
    meaning: 'An Attribute or Channel was used outside a method call, or after the call had ended.',
    fix: 'Use it inside waitFor, execute or an RPC, and await everything started there.',
  },
  FLOW_ALREADY_EXISTS: {
    name: 'FlowAlreadyExistsError',
    kind: 'conflict',
    meaning: 'The flowId is taken, and the reuse policy of the start does not allow another run.',
    fix: 'Use another flowId, the requestId of the first start, or another idReuse policy.',
  },
  FLOW_NOT_FOUND: {
    name: 'FlowNotFoundError',
    kind: 'rejected',
    meaning: 'No run of that flowId (or no such runId) is known; it never started or its retention is over.',
    fix: 'Check the flowId and the namespace.',
  },
  FLOW_NOT_ACTIVE: {
    name: 'FlowNotActiveError',
    kind: 'rejected',
    meaning: 'The run is closed, or there is none. Nothing was saved.',
    fix: 'Start the Flow first, or stop publishing to it.',
  },
  FLOW_FAILED: {
    name: 'FlowFailedError',
    kind: 'rejected',
    meaning: 'The Flow ended without completing: it failed, or was cancelled or terminated.',
    fix: 'Look at `cause` and at the history.',
  },
  SEVERAL_OUTPUTS: {
    name: 'SeveralOutputsError',
    kind: 'usage',
    meaning: 'More than one branch gave an output, so there is no single result.',
    fix: 'Use `outputs()`.',
  },
  FLOW_CLOSING: {
    name: 'FlowClosingError',
    kind: 'rejected',
    meaning: 'The Flow is closing and takes no new calls. Nothing was saved.',
    fix: 'Start the Flow again, or stop calling it.',
  },
  NO_WORKER: {
    name: 'NoWorkerError',
    kind: 'transient',
    meaning: 'No worker took the call before its deadline. Nothing was saved.',
    fix: 'Start a worker that has this Flow, or give the call a longer deadline.',
  },
  LOCK_CONFLICT: {
    name: 'LockConflictError',
    kind: 'rejected',
    meaning: 'A lock that the call needs is taken, and the call does not wait for locks. Nothing was saved.',
    fix: 'Repeat it later, or declare the RPC with onLockConflict: wait.',
  },
  RPC_REJECTED: {
    name: 'RpcRejectedError',
    kind: 'rejected',
    meaning: 'The validator of the RPC turned the call down. Nothing was saved, and no event was left.',
    fix: 'See `cause` for its type, message and details.',
  },
  RPC_FAILED: {
    name: 'RpcFailedError',
    kind: 'rejected',
    meaning: 'The RPC threw. Nothing was saved; the Flow goes on.',
    fix: 'See `cause` for what was thrown.',
  },
  STEP_NOT_FOUND: {
    name: 'StepNotFoundError',
    kind: 'rejected',
    meaning: 'The run has no such Step execution, or it is not in the state the call needs.',
    fix: 'Look at `describe` for the executions of the run.',
  },
  ATTRIBUTE_NOT_REACHED: {
    name: 'AttributeNotReachedError',
    kind: 'rejected',
    meaning: 'The run closed before the Attribute had the value that was waited for.',
    fix: 'Look at `attributes` and at the history of the run.',
  },
  HISTORY_GONE: {
    name: 'HistoryGoneError',
    kind: 'rejected',
    meaning: 'The state of that moment cannot be made any more: the history it needs was removed. Nothing was changed.',
    fix: 'Travel to a later moment, or keep history for longer with `retention`.',
  },
  SCHEDULE_NOT_FOUND: {
    name: 'ScheduleNotFoundError',
    kind: 'rejected',
    meaning: 'There is no schedule of that id: it was never registered, or was deleted.',
    fix: 'Check the id and the namespace, or register it.',
  },
  ID_CONFLICT: {
    name: 'IdConflictError',
    kind: 'conflict',
    meaning: 'A requestId or messageId was used before with other content.',
    fix: 'Use a new id for a new request.',
  },
  REQUEST_EXPIRED: {
    name: 'RequestExpiredError',
    kind: 'conflict',
    meaning: 'The id of the request is older than the window in which ids are remembered. It was not applied.',
    fix: 'Find out whether the first request was applied, then send a new one.',
  },
  STORE_IN_USE: {
    name: 'StoreInUseError',
    kind: 'conflict',
    meaning: 'Another living process has this embedded store open.',
    fix: 'Stop the other process, or give this one a store of its own.',
  },
  STORE_UNAVAILABLE: {
    name: 'StoreUnavailableError',
    kind: 'transient',
    meaning: 'The state store failed or gave no answer; whether the write took place may be unknown.',
    fix: 'Repeat with the same id: it is applied once.',
  },
  STORE_LAYOUT: {
    name: 'StoreLayoutError',
    kind: 'usage',
    meaning: 'The store was made with another number of shards or by a newer version.',
    fix: 'Open it with the settings it was made with.',
  },
  STORE_URL: {
    name: 'StoreUrlError',
    kind: 'usage',
    meaning: 'The store URL names no adapter, or the adapter cannot be loaded here.',
    fix: 'Use file:, lmdb:, s3://, gs://, az:// or memory:.',
  },
  FENCED: {
    name: 'FencedError',
    kind: 'fenced',
    meaning: 'Another owner opened this shard; this one may not write any more.',
    fix: 'Nothing: the new owner goes on.',
  },
  CORRUPT_RECORD: {
    name: 'CorruptRecordError',
    kind: 'corrupt',
    meaning: 'A stored record cannot be read.',
    fix: 'The run is blocked and the others go on; restore it, or stop it.',
  },
  CLOSED: {
    name: 'ClosedError',
    kind: 'usage',
    meaning: 'The client, worker or engine was closed.',
    fix: 'Do not use it after close().',
  },
  DEADLINE_EXCEEDED: {
    name: 'DeadlineExceededError',
    kind: 'transient',
    meaning: 'No answer came before the deadline of the call; it may still be applied.',
    fix: 'Repeat with the same id: it is applied once.',
  },
  ABORTED: {
    name: 'AbortedError',
    kind: 'transient',
    meaning: 'The signal of the call was aborted before the answer came; it may still be applied.',
    fix: 'See `cause` for the reason; a repeat with the same id is applied once.',
  },
  OVERLOADED: {
    name: 'OverloadedError',
    kind: 'transient',
    meaning: 'The engine has too large a backlog. Nothing was saved.',
    fix: 'Repeat later with the same id.',
  },
  REDIS_UNAVAILABLE: {
    name: 'RedisUnavailableError',
    kind: 'transient',
    meaning: 'Redis cannot be reached, or gave no answer; what was sent may still be applied.',
    fix: 'Repeat with the same id when Redis is back.',
  },
  REDIS_FULL: {
    name: 'RedisFullError',
    kind: 'transient',
    meaning: 'Redis has no memory left. Nothing was sent, nothing was saved.',
    fix: 'Give Redis more memory; repeat later with the same id.',
  },
  REDIS_UNSUITABLE: {
    name: 'RedisUnsuitableError',
    kind: 'usage',
    meaning: 'This Redis cannot be used: it is too old, or it may evict keys.',
    fix: 'Use Redis 6.2 or newer with maxmemory-policy noeviction, or allow eviction when opening.',
  },
  NO_INDEX: {
    name: 'NoIndexError',
    kind: 'usage',
    meaning: 'There is no index to search: none was configured here.',
    fix: "Give `index` when opening, e.g. 'sqlite:.holdfast/index.db' or 'postgres://…', to the client and to every engine.",
  },
  INDEX_URL: {
    name: 'IndexUrlError',
    kind: 'usage',
    meaning: 'The URL of the index names no adapter, or what the adapter needs cannot be loaded here.',
    fix: 'Use postgres://, sqlite:<file> or memory:, and install typeorm with the driver that the message names.',
  },
  INDEX_UNAVAILABLE: {
    name: 'IndexUnavailableError',
    kind: 'transient',
    meaning: 'The index failed or gave no answer. Flows go on; what changes is indexed later.',
    fix: 'Repeat later; see that the database is up.',
  },
  INTERNAL: {
    name: 'InternalError',
    kind: 'corrupt',
    meaning: 'A rule of the library itself was broken.',
    fix: 'Report it with the history of the run.',
  },
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof catalogue;
