import type { KeyRange } from '../ports';
import { prefixRange } from '../ports';

/**
 * Every durable key of a shard.
 *
 * | key | value | written | lives |
 * | --- | --- | --- | --- |
 * | `m/clock` | time of the shard's clock | each write | for ever |
 * | `m/layout` | format and number of shards | when the shard is made | for ever |
 * | `p/<fingerprint>` | a plan | when a process with user code connects | for ever |
 * | `f/<flowId>` | head of a flowId: latest run, remembered ids | start, publish, stop | while a run of it is kept |
 * | `f/\0schedule/<id>` | a schedule | register, change, each firing | until it is deleted |
 * | `i/<flowId>\0<table>/<key>` | a remembered id, or a debt to a child, that has no room in the head | with it | as long as the id is remembered |
 * | `r/<runId>` | head of a run: scalars and small rows | each change of the run | until its retention is over |
 * | `t/<runId>/<table>/<key>` | a row that has no room in the head | when it changes | as long as the row |
 * | `h/<runId>/<number>` | a chunk of history, named by its first event | each change of the run | until its retention is over |
 * | `c/<runId>/<number>/<part>` | a copy of the run's state after that event | see `StateCopies` | as the history before it, and its run |
 * | `g/<due>/<runId>/<number>` | what to remove then: a closed run (number 0), or its history up to that event | close, roll | until then |
 * | `x/<runId>` | nothing; the index has not taken the latest of the run | with what the index shows of it | until some write after the index took it |
 * | `m/index` | name of what the index was fed with, and up to which run it is being written anew | with the first change, and when it is written anew | while there is an index |
 * | `w/<due>/<runId>` | flowId of a run that needs a look then; due 0: at take-over | when that time changes | until then |
 * | `w/<due>/~<flowId>` | the same of a flowId: a debt to a child (due 0), the next firing of a schedule | with it | until then |
 */
export const keys = {
  clock: 'm/clock',
  layout: 'm/layout',
  index: 'm/index',
  plan: (fingerprint: string) => `p/${fingerprint}`,
  plans: prefixRange('p/'),
  flow: (flowId: string) => `f/${flowId}`,
  /** Of the flowIds that begin so and come after one. */
  flowsAfter: (prefix: string, after: string | null): KeyRange => {
    const range = prefixRange(`f/${prefix}`);
    return after === null ? range : { ...range, from: `f/${after}\u0000` };
  },
  flowRow: (flowId: string, table: string, key: string) => `i/${flowId}\u0000${table}/${key}`,
  flowRows: (flowId: string): KeyRange => prefixRange(`i/${flowId}\u0000`),
  run: (runId: string) => `r/${runId}`,
  /** All runs from the one after. */
  runsAfter: (runId: string): KeyRange => ({
    from: runId === '' ? 'r/' : `r/${runId}\u0000`,
    to: prefixRange('r/').to,
  }),
  runIdOf: (key: string) => key.slice(2),
  unindexed: (runId: string) => `x/${runId}`,
  allUnindexed: prefixRange('x/'),
  runRow: (runId: string, table: string, key: string) => `t/${runId}/${table}/${key}`,
  runRows: (runId: string): KeyRange => prefixRange(`t/${runId}/`),
  history: (runId: string, firstEvent: number) => `h/${runId}/${padded(firstEvent)}`,
  historyOf: (runId: string): KeyRange => prefixRange(`h/${runId}/`),
  historyUpTo: (runId: string, event: number): KeyRange => ({
    from: `h/${runId}/`,
    to: `h/${runId}/${padded(event + 1)}`,
  }),
  copy: (runId: string, event: number, part: number) => `c/${runId}/${padded(event)}/${padded(part)}`,
  copyOf: (runId: string, event: number): KeyRange => prefixRange(`c/${runId}/${padded(event)}/`),
  copiesOf: (runId: string): KeyRange => prefixRange(`c/${runId}/`),
  copiesBefore: (runId: string, event: number): KeyRange => ({
    from: `c/${runId}/`,
    to: `c/${runId}/${padded(event)}/`,
  }),
  eventOfCopy: (key: string) => Number(key.split('/').at(-2)),
  garbage: (dueAt: number, runId: string, upTo: number | null) => `g/${padded(dueAt)}/${runId}/${padded(upTo ?? 0)}`,
  garbageUntil: (dueAt: number): KeyRange => ({ from: 'g/', to: `g/${padded(dueAt + 1)}/` }),
  wake: (dueAt: number, runId: string) => `w/${padded(dueAt)}/${runId}`,
  wakesBetween: (from: number, to: number): KeyRange => ({ from: `w/${padded(from)}/`, to: `w/${padded(to + 1)}/` }),
  dueOfWake: (key: string) => Number(key.slice(2, 18)),
} as const;

/** Numbers in keys have 16 digits, so that their order is that of the bytes; 10^16 ms is the year 318857. */
function padded(number: number): string {
  return String(number).padStart(16, '0');
}
