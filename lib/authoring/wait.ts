import { HoldfastError } from '../errors';
import type { Condition } from './condition';

const waitBrand = Symbol.for('holdfast.wait');

/** What `waitFor` returns: made by `until`, `allOf`, `anyOf` and `anyCombinationOf` (W1). */
export class Wait {
  declare readonly [waitBrand]: true;

  /**
   * `candidates` are lists of positions in `conditions`, in the order in which they are tried: the first candidate whose
   * conditions all hold wins, and only it consumes (W2).
   */
  constructor(
    readonly conditions: readonly Condition[],
    readonly candidates: readonly (readonly number[])[],
  ) {
    refuseDuplicateIds(conditions);
    Object.freeze(this);
  }
}

Object.defineProperty(Wait.prototype, waitBrand, { value: true });

/** Waits for one condition. */
export function until(condition: Condition): Wait {
  return new Wait(checked('until', [condition]), [[0]]);
}

/** Waits until all conditions hold at once. Throws `DEFINITION` for an empty list and for an id used twice. */
export function allOf(...conditions: Condition[]): Wait {
  return new Wait(checked('allOf', conditions), [conditions.map((_, index) => index)]);
}

/**
 * Waits for the first condition to hold; several at once are tried in the order timers, Channels, SubFlows, each by
 * declaration (W2). Throws `DEFINITION` for an empty list and for an id used twice.
 */
export function anyOf(...conditions: Condition[]): Wait {
  const all = checked('anyOf', conditions);
  const ofKind = (kind: Condition['kind']) => all.flatMap((each, index) => (each.kind === kind ? [[index]] : []));
  return new Wait(all, [...ofKind('timer'), ...ofKind('channel'), ...ofKind('subFlow')]);
}

/**
 * Waits for the first list whose conditions all hold, tried in the given order (W2). Every condition needs an id; the same
 * condition may be part of several lists. Throws `DEFINITION` for empty lists and missing or repeated ids.
 */
export function anyCombinationOf(...combinations: (readonly Condition[])[]): Wait {
  if (combinations.length === 0) throw emptyError('anyCombinationOf');
  const all: Condition[] = [];
  const candidates = combinations.map((combination) => {
    if (!Array.isArray(combination)) {
      throw new HoldfastError('DEFINITION', 'anyCombinationOf takes lists of conditions, e.g. [a, b], [c].', {
        where: 'anyCombinationOf',
        fix: 'Put each combination into brackets.',
      });
    }
    return checked('anyCombinationOf', combination).map((condition) => {
      if (condition.id === undefined) {
        throw new HoldfastError('DEFINITION', 'anyCombinationOf was given a condition without an id.', {
          where: 'anyCombinationOf',
          fix: "Give each condition an id, e.g. take(1, 'approved').",
        });
      }
      const known = all.indexOf(condition);
      return known >= 0 ? known : all.push(condition) - 1;
    });
  });
  return new Wait(all, candidates);
}

export function isWait(value: unknown): value is Wait {
  return typeof value === 'object' && value !== null && (value as Wait)[waitBrand] === true;
}

function checked(use: string, conditions: readonly Condition[]): readonly Condition[] {
  if (conditions.length === 0) throw emptyError(use);
  for (const condition of conditions) {
    if (condition?.kind !== 'channel' && condition?.kind !== 'timer' && condition?.kind !== 'subFlow') {
      throw new HoldfastError('DEFINITION', `${use} was given something that is not a condition.`, {
        where: use,
        fix: 'Give conditions made by take(), takeAtLeast(), takeUpTo(), takeBetween(), Timer.after(), Timer.at() or subFlow().',
      });
    }
  }
  if (new Set(conditions).size < conditions.length) {
    throw new HoldfastError('DEFINITION', `${use} was given the same condition twice.`, {
      where: use,
      fix: 'Make a condition of its own for each, or take a larger amount.',
    });
  }
  return [...conditions];
}

function emptyError(use: string): HoldfastError {
  return new HoldfastError('DEFINITION', `${use} was given no condition, so it would never, or always, hold.`, {
    where: use,
    fix: 'Give at least one condition; a Step that need not wait has no waitFor.',
  });
}

function refuseDuplicateIds(conditions: readonly Condition[]): void {
  const seen = new Set<string>();
  for (const { id } of conditions) {
    if (id === undefined) continue;
    if (seen.has(id)) {
      throw new HoldfastError('DEFINITION', `Two conditions of one Wait have the id '${id}'.`, {
        where: `condition '${id}'`,
        fix: 'Give each condition an id of its own.',
      });
    }
    seen.add(id);
  }
}
