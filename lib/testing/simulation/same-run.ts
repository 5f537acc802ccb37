import { apply, begin, continueRun, type Event, type RunState } from '../../core';

/** Where two runs differ in what is stored of them; undefined where they do not. */
export function difference(a: RunState, b: RunState): string | undefined {
  if (!same(a.head, b.head)) return `head ${show(a.head)} and ${show(b.head)}`;
  for (const [name, table] of Object.entries(a.tables)) {
    const rows = [...table.entries()];
    const others = [...b.tables[name as keyof RunState['tables']].entries()];
    if (rows.length !== others.length) return `${name}: ${rows.length} and ${others.length} rows`;
    for (const [i, row] of rows.entries())
      if (!same(row, others[i])) return `${name}: ${show(row)} and ${show(others[i])}`;
  }
  return undefined;
}

/** The states that the histories of a chain of runs give. */
export function fold(histories: readonly (readonly Event[])[]): RunState[] {
  const runs: RunState[] = [];
  for (const [first, ...rest] of histories) {
    const before = runs.at(-1);
    let run: RunState;
    if (first?.kind === 'FlowStarted' && !before) run = begin(first);
    else if (first?.kind === 'RunContinued' && before) run = continueRun(before, first);
    else throw new Error(`A history begins with ${first?.kind}.`);
    for (const event of rest) apply(run, event);
    runs.push(run);
  }
  return runs;
}

/** Equal as stored values: byte arrays by their bytes, and a field that is undefined is not there. */
function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof Uint8Array || b instanceof Uint8Array) {
    return a instanceof Uint8Array && b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  }
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (!same((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key])) return false;
  }
  return true;
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, part) => (part?.type === 'Buffer' ? `${part.data.length} bytes` : part));
}
