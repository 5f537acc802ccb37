import { type Call, type Execution, keyOf, nameOf, RunState } from '../../core';

/** Says what is wrong, or nothing. */
type Invariant = (run: RunState, now: number) => string | undefined;

/** What holds of a run's state at every moment, by name. */
export const invariants: Readonly<Record<string, Invariant>> = {
  'a closed run has no executions': (run) =>
    !run.isOpen && run.executions.size > 0 ? list(run.executions.keys()) : undefined,
  'an execution waits or has a call, never both': (run) =>
    find(run, ({ wait, call }) => (wait === null) === (call === null)),
  'a token and a worker are there while a call runs, and only then': (run) =>
    findCall(run, ({ state, token, worker }) => (state === 'running') !== (token !== null && worker !== null)),
  // One that gave its locks back unentered takes another when it is handed out again.
  'a call that runs sees a snapshot, and none that has never run': (run) =>
    findCall(run, ({ state, firstAt, snapshot }) =>
      snapshot === null ? state === 'running' || state === 'backoff' : firstAt === null,
    ),
  'a snapshot is of the past': (run) =>
    findCall(run, ({ snapshot }) => snapshot !== null && snapshot > run.head.events),
  'numbers never exceed the last one given': (run) =>
    find(run, ({ seq, call, wait }) => Math.max(seq, call?.issue ?? 0, wait?.issue ?? 0) > run.head.seq),
  'an execution has a number that was counted': (run) =>
    find(run, ({ id, step }) => Number(id.slice(step.length + 1)) > (run.head.counters[step] ?? 0)),
  'an exclusive lock has one holder': exclusive,
  'the indexes agree with the rows': indexes,
  'the indexes are those that a new owner builds': rebuilt,
  'a message is unread or consumed, never both, by one execution only': messages,
  'an old version is kept only while a call sees it': versions,
};

/** The first invariant that does not hold. */
export function brokenInvariant(run: RunState, now: number): string | undefined {
  for (const [name, invariant] of Object.entries(invariants)) {
    const wrong = invariant(run, now);
    if (wrong !== undefined) return `${name}: ${wrong}`;
  }
  return undefined;
}

function find(run: RunState, wrong: (execution: Execution) => boolean): string | undefined {
  for (const execution of run.executions.values()) if (wrong(execution)) return execution.id;
  return undefined;
}

function findCall(run: RunState, wrong: (call: Call) => boolean): string | undefined {
  return find(run, ({ call }) => call !== null && wrong(call));
}

const holding = (call: Call | null) => call !== null && call.state !== 'locked' && call.state !== 'delayed';

function exclusive(run: RunState): string | undefined {
  const held: { id: string; address: string; exclusive: boolean }[] = [];
  for (const { id, call } of run.executions.values()) {
    for (const { address, mode } of holding(call) ? call!.locks : []) {
      for (const other of held) {
        const meet =
          address === other.address || nameOf(address) === other.address || address === nameOf(other.address);
        if (meet && (mode === 'exclusive' || other.exclusive)) return `${address} by ${id} and ${other.id}`;
      }
      held.push({ id, address, exclusive: mode === 'exclusive' });
    }
  }
  return undefined;
}

function indexes(run: RunState): string | undefined {
  for (const state of ['ready', 'running', 'locked'] as const) {
    const rows = [...run.executions.values()].filter(({ call }) => call?.state === state).map(({ id }) => id);
    if (rows.length !== run[state].size || rows.some((id) => !run[state].has(id))) {
      return `${state} are ${list(run[state])}, and should be ${list(rows)}`;
    }
  }
  return undefined;
}

function rebuilt(run: RunState, now: number): string | undefined {
  const fresh = new RunState(run.head, run.tables);
  const due = fresh.due.next();
  const kept = run.due.next();
  // What was looked at without effect may be due later than a new owner would look.
  if (due !== null && due > now && (kept === null || kept > due)) return `the next look is at ${kept}, not ${due}`;
  const [mine, theirs] = [showIndexes(run), showIndexes(fresh)];
  return mine === theirs ? undefined : `${mine} and ${theirs}`;
}

function showIndexes(run: RunState): string {
  const locks = run.locks.describe().map(({ address, holders, waiting }) => {
    // RPCs stand in the table too, and are not stored.
    const own = (ids: readonly string[]) => ids.filter((id) => keyOf(id) === undefined);
    return [address, own(holders).sort(), own(waiting)] as const;
  });
  return JSON.stringify([
    [...run.ready].sort(),
    locks.filter(([, holders, waiting]) => holders.length + waiting.length > 0).sort(byFirst),
    [...run.waiters].map(([address, ids]) => [address, [...ids]] as const).sort(byFirst),
    [...run.messages.allUnread()].map(([address, ids]) => [address, [...ids]] as const).sort(byFirst),
  ]);
}

function messages(run: RunState): string | undefined {
  const consumers = new Map<string, string>();
  for (const { id, won } of run.executions.values()) {
    for (const key of (won?.messages ?? []).flatMap(([, keys]) => keys)) {
      const other = consumers.get(key);
      if (other !== undefined) return `${key} by ${other} and ${id}`;
      if (!run.messages.get(key)) return `${key} of ${id} is gone`;
      consumers.set(key, id);
    }
  }
  for (const [, keys] of run.messages.allUnread()) {
    for (const key of keys) if (consumers.has(key)) return `${key}, consumed by ${consumers.get(key)}`;
  }
  return undefined;
}

function versions(run: RunState): string | undefined {
  const snapshots = [...run.executions.values()].flatMap(({ call }) => (call?.snapshot == null ? [] : [call.snapshot]));
  for (const [address, row] of run.tables.attributes.entries()) {
    const needless = row.versions.find(([version], i) => {
      const next = row.versions[i + 1]?.[0];
      return next !== undefined && !snapshots.some((snapshot) => snapshot >= version && snapshot < next);
    });
    if (needless) return `${address} of event ${needless[0]}`;
  }
  return undefined;
}

function list(ids: Iterable<string>): string {
  return [...ids].join(', ') || 'none';
}

function byFirst(a: readonly [string, ...unknown[]], b: readonly [string, ...unknown[]]): number {
  return a[0] < b[0] ? -1 : 1;
}
