import type { ConditionSpec } from '../../../core';
import { keyOf, nameOf } from '../../../core';
import type { ProgramNode } from '../workload/program';
import type { ConditionModel, WaitModel } from './execution-model';

/** How an address is written in the model. */
export function place(address: string): string {
  const key = keyOf(address);
  return key === undefined ? nameOf(address) : `${nameOf(address)} ${key}`;
}

/** The wait that a program asks for, saved at `at`: its timers count from there (W6). */
export function waitModel(node: ProgramNode, stored: readonly ConditionSpec[], at: number): WaitModel {
  const conditions = node.wait!.conditions.map((script): ConditionModel => {
    if (script.kind === 'timer') {
      return { id: script.id, address: undefined, min: 0, max: 0, dueAt: at + script.afterMs };
    }
    const address = script.key === undefined ? script.channel : `${script.channel} ${script.key}`;
    return { id: script.id, address, min: script.min, max: script.max ?? Number.POSITIVE_INFINITY, dueAt: 0 };
  });
  const ids = stored.map(({ id }) => id!);
  return { conditions, stored: ids, candidates: node.wait!.candidates, skipped: new Set() };
}

/** What is stored, in the same words; to be compared. */
export function showStored(conditions: readonly ConditionSpec[], candidates: readonly (readonly number[])[]): string {
  const shown = conditions.map((each) => {
    if (each.kind === 'timer') return `${each.id}@${each.dueAt}`;
    if (each.kind === 'subFlow') return `${each.id}:${each.key}`;
    return `${each.id}:${place(each.address)} ${each.min}-${each.max ?? 'all'}`;
  });
  return show(shown, candidates);
}

export function showWait({ conditions, candidates }: WaitModel): string {
  const shown = conditions.map(({ id, address, min, max, dueAt }) =>
    address === undefined
      ? `${id}@${dueAt}`
      : `${id}:${address} ${min}-${max === Number.POSITIVE_INFINITY ? 'all' : max}`,
  );
  return show(shown, candidates);
}

function show(conditions: readonly string[], candidates: readonly (readonly number[])[]): string {
  const lists = candidates.map((candidate) => candidate.map((index) => conditions[index]).join(' & '));
  return `${[...conditions].sort().join(', ')}; ${lists.join(' | ')}`;
}

/** How many messages each condition of a candidate takes (W4); undefined where it does not hold. */
export function amounts(
  wait: WaitModel,
  candidate: readonly number[],
  unread: (address: string) => number,
  now: number,
): Map<number, number> | undefined {
  const taken = new Map<number, number>();
  const left = new Map<string, number>();
  for (const index of candidate) {
    const { address, min, dueAt } = wait.conditions[index]!;
    if (address === undefined) {
      if (dueAt > now && !wait.skipped.has(index)) return undefined;
      continue;
    }
    const rest = (left.get(address) ?? unread(address)) - min;
    if (rest < 0) return undefined;
    left.set(address, rest);
    taken.set(index, min);
  }
  for (const [index, min] of taken) {
    const { address, max } = wait.conditions[index]!;
    const extra = Math.min(max - min, left.get(address!)!);
    left.set(address!, left.get(address!)! - extra);
    taken.set(index, min + extra);
  }
  return taken;
}
