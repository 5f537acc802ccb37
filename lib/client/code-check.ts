import type { CodePage, FoundLack } from '../engine';
import type { Requests } from './requests';
import type { CallOptions } from './settings';

/** What becomes of open runs with the code of this process. */
export interface CodeReport {
  /** What open runs have and this code lacks: they would be blocked there, or not see it. */
  readonly lacks: readonly FoundLack[];
  /** Open runs per Flow that was not given at opening: other processes have to run them. */
  readonly foreign: Readonly<Record<string, number>>;
  /** False where `limit` ended the look. */
  readonly complete: boolean;
}

export interface CheckOptions extends CallOptions {
  /** Runs to look at per shard [all]. */
  readonly limit?: number;
}

const runsPerPage = 200;

/** Looks at the open runs of all shards, one shard after another. */
export async function checkCode(
  requests: Requests,
  { limit = Number.POSITIVE_INFINITY, ...options }: CheckOptions,
): Promise<CodeReport> {
  const plans = [...requests.compiled.flows.values()].map(({ plan }) => plan.fingerprint);
  const lacks = new Map<string, FoundLack>();
  const foreign: Record<string, number> = {};
  let complete = true;
  for (let shard = 0; shard < requests.shards; shard++) {
    let after: string | null = '';
    for (let seen = 0; after !== null && complete; seen += runsPerPage) {
      if (seen >= limit) complete = false;
      const what = { kind: 'code', plans, after, limit: runsPerPage } as const;
      const page: CodePage = (await requests.readShard(shard, what, options)) as CodePage;
      for (const lack of page.lacks) {
        const key = `${lack.flow} ${lack.what} ${lack.name}`;
        const known = lacks.get(key);
        lacks.set(key, known ? { ...known, runs: known.runs + lack.runs } : lack);
      }
      for (const [flow, runs] of Object.entries(page.foreign)) foreign[flow] = (foreign[flow] ?? 0) + runs;
      after = page.next;
    }
  }
  return { lacks: [...lacks.values()], foreign, complete };
}
