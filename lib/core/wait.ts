import type { ConditionSpec, Execution, WaitState } from './execution';
import { routeDefinition } from './failure-route';
import type { Address } from './payload';
import type { RunState } from './run-state';
import { callTerms, claimsForExecute } from './step';
import { keysToStop, stopWithWait } from './subflow';
import type { Turn } from './turn';

/** Moves every wait on to `execute` that something in this turn may have satisfied. True if one was. */
export function satisfyWaits(turn: Turn): boolean {
  let moved = false;
  const tried = [...turn.waitsToTry];
  turn.waitsToTry.clear();
  for (const id of tried) moved = tryWait(turn, id) || moved;
  const arrived = [...turn.arrivedOn];
  turn.arrivedOn.clear();
  for (const address of arrived) {
    for (const id of [...(turn.run.waiters.get(address) ?? [])]) {
      if (!turn.run.messages.unread(address)) break;
      moved = tryWait(turn, id) || moved;
    }
  }
  return moved;
}

/** Tries the candidates of a waiting execution in order; the first that holds wins and alone consumes (W2, W3). */
export function tryWait(turn: Turn, id: string): boolean {
  const execution = turn.run.executions.get(id);
  if (!execution?.wait) return false;
  for (const [candidate, conditions] of execution.wait.candidates.entries()) {
    const taken = evaluate(turn.run, execution.wait, conditions, turn.now);
    if (taken) return win(turn, execution, candidate, taken);
  }
  return false;
}

interface Taken {
  readonly messages: [condition: number, keys: string[]][];
  readonly fired: number[];
}

function win(turn: Turn, execution: Execution, candidate: number, taken: Taken): boolean {
  const claims = claimsForExecute(turn, execution);
  if (!Array.isArray(claims)) {
    routeDefinition(turn, execution, 'waitFor', claims);
    return true;
  }
  const { wait } = execution;
  turn.emit({
    kind: 'WaitSatisfied',
    execution: execution.id,
    candidate,
    messages: taken.messages,
    fired: taken.fired,
    call: callTerms(turn, execution, 'execute', claims),
  });
  const won = wait!.candidates[candidate]!;
  const lost = wait!.conditions.filter((_, i) => !won.includes(i));
  stopWithWait(turn, keysToStop(lost));
  return true;
}

function evaluate(run: RunState, wait: WaitState, candidate: readonly number[], now: number): Taken | undefined {
  const taken: Taken = { messages: [], fired: [] };
  const perChannel = new Map<Address, { index: number; condition: ConditionSpec & { kind: 'channel' } }[]>();
  for (const index of candidate) {
    const condition = wait.conditions[index]!;
    if (condition.kind === 'timer') {
      if (condition.dueAt > now && !wait.skipped.includes(index)) return undefined;
      taken.fired.push(index);
    } else if (condition.kind === 'subFlow') {
      if (run.children.get(condition.key)?.state !== 'closed') return undefined;
    } else {
      const others = perChannel.get(condition.address);
      if (others) others.push({ index, condition });
      else perChannel.set(condition.address, [{ index, condition }]);
    }
  }
  for (const [address, conditions] of perChannel) {
    const queue = run.messages.unread(address);
    let spare = (queue?.size ?? 0) - conditions.reduce((sum, { condition }) => sum + condition.min, 0);
    if (spare < 0) return undefined;
    // Minimums are reserved first; what is left is given in order of declaration (W4).
    const keys = queue?.keys();
    for (const { index, condition } of conditions) {
      const extra = Math.min(spare, (condition.max ?? Number.POSITIVE_INFINITY) - condition.min);
      spare -= extra;
      const own: string[] = [];
      for (let i = 0; i < condition.min + extra; i++) own.push(keys!.next().value!);
      taken.messages.push([index, own]);
    }
  }
  return taken;
}
