import type { Random } from '../random';
import type { Family } from './family';
import type { ConditionScript, WaitScript } from './program';
import { parcelKeys } from './state';

/** Something to wait for: mostly with a timer that ends it, sometimes only by messages that may never come. */
export function waitScript(random: Random, parcels: boolean, family: Family | undefined): WaitScript {
  const how = random.pick(['until', 'allOf', 'anyOf', 'anyOf', 'anyCombinationOf'] as const);
  let timers = 0;
  let channels = 0;
  let subFlows = 0;
  const timer = (): ConditionScript => {
    return { kind: 'timer', id: `t${timers++}`, afterMs: random.chance(0.1) ? 0 : random.magnitude(1, 30_000) };
  };
  const channel = (): ConditionScript => {
    const take = random.pick(['take', 'take', 'takeAtLeast', 'takeUpTo', 'takeBetween'] as const);
    const min = take === 'takeUpTo' ? 0 : random.between(1, 2);
    const max = take === 'take' ? min : take === 'takeAtLeast' ? null : min + random.between(1, 2);
    const isParcel = parcels && random.chance(0.4);
    return {
      kind: 'channel',
      id: `c${channels++}`,
      channel: isParcel ? 'Parcels' : 'Letters',
      key: isParcel ? random.pick(parcelKeys) : undefined,
      take,
      min,
      max,
    };
  };
  const child = (): ConditionScript => {
    return { kind: 'subFlow', id: `s${subFlows++}`, child: family!.child(random), cancelWithWait: random.chance(0.4) };
  };
  const any = () => (family && random.chance(0.5) && subFlows < 2 ? child() : random.chance(0.4) ? timer() : channel());
  switch (how) {
    case 'until': {
      const conditions = [family && random.chance(0.4) ? child() : random.chance(0.8) ? timer() : channel()];
      return { how, conditions, candidates: [[0]] };
    }
    case 'allOf': {
      const conditions = Array.from({ length: random.between(1, 3) }, any);
      return { how, conditions, candidates: [conditions.map((_, index) => index)] };
    }
    case 'anyOf': {
      const conditions = shuffled(random, [timer(), ...Array.from({ length: random.between(1, 2) }, any)]);
      // Timers by declaration, then Channels, then SubFlows (W2).
      const ofKind = (kind: string) => conditions.flatMap((each, index) => (each.kind === kind ? [[index]] : []));
      return { how, conditions, candidates: [...ofKind('timer'), ...ofKind('channel'), ...ofKind('subFlow')] };
    }
    case 'anyCombinationOf': {
      const conditions = [channel(), family && random.chance(0.5) ? child() : channel(), timer()];
      return {
        how,
        conditions,
        candidates: random.pick([
          [[0, 1], [2]],
          [
            [0, 2],
            [1, 2],
            [0, 1],
          ],
          [[1], [0, 2], [2]],
        ]),
      };
    }
  }
}

function shuffled<T>(random: Random, list: readonly T[]): T[] {
  const rest = [...list];
  const result: T[] = [];
  while (rest.length > 0) result.push(...rest.splice(random.below(rest.length), 1));
  return result;
}
