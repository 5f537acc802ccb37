import type { ConditionSpec } from '../../../core';
import { keyOf, nameOf } from '../../../core';
import type { ProgramNode } from '../workload/program';
import type { Witness } from './check';
import type { ConditionModel, WaitModel } from './execution-model';
import type { RunModel } from './run-model';

/** How an address is written in the model. */
export function place(address: string): string {
  const key = keyOf(address);
  return key === undefined ? nameOf(address) : `${nameOf(address)} ${key}`;
}

/** The wait that a program asks for, saved at `at`: its timers count from there (W6). */
export function waitModel(
  node: ProgramNode,
  stored: readonly ConditionSpec[],
  at: number,
  subFlows: ReadonlyMap<string, string>,
): WaitModel {
  const conditions = node.wait!.conditions.map((script): ConditionModel => {
    if (script.kind === 'timer') {
      return { id: script.id, address: undefined, min: 0, max: 0, dueAt: at + script.afterMs };
    }
    if (script.kind === 'subFlow') {
      return { id: script.id, address: undefined, child: subFlows.get(script.id)!, min: 0, max: 0, dueAt: 0 };
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
  const shown = conditions.map(({ id, address, min, max, dueAt, child }) =>
    address === undefined
      ? child === undefined
        ? `${id}@${dueAt}`
        : `${id}:${child}`
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
  hasClosed: (child: string) => boolean,
): Map<number, number> | undefined {
  const taken = new Map<number, number>();
  const left = new Map<string, number>();
  for (const index of candidate) {
    const { address, min, dueAt, child } = wait.conditions[index]!;
    if (child !== undefined) {
      if (!hasClosed(child)) return undefined;
      continue;
    }
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

/** Keys of the SubFlows that a wait has asked for, by the ids of its conditions. */
export function childKeys(
  node: ProgramNode,
  run: RunModel,
  execution: string,
  { children }: Witness,
): Map<string, string> {
  const asked = children.ofChain(run.chainId).filter((child) => child.execution === execution);
  const keys = new Map<string, string>();
  for (const script of node.wait?.conditions ?? []) {
    if (script.kind !== 'subFlow') continue;
    const { child } = script;
    const index = asked.findIndex(
      ({ flowId, parentClose, reuse, program }) =>
        program === child.input.program &&
        parentClose === child.parentClose &&
        reuse === child.reuse &&
        (child.flowId === undefined || child.flowId === flowId),
    );
    if (index >= 0) keys.set(script.id, asked.splice(index, 1)[0]!.key);
  }
  return keys;
}
