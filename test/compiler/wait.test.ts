import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert';
import { Channel } from '../../decorators';
import {
  allOf,
  anyCombinationOf,
  anyOf,
  type Condition,
  DurableChannel,
  DurableChannelMap,
  isDecision,
  isWait,
  Timer,
  until,
} from '../../lib/authoring';

@Channel()
class Letters extends DurableChannel<string> {}

@Channel()
class Parcels extends DurableChannelMap<number> {}

describe('waits', () => {
  const letters = new Letters();
  const parcels = new Parcels();

  it('[W4] reads Channel amounts', () => {
    deepStrictEqual({ ...letters.take(2) }, { kind: 'channel', type: Letters, min: 2, max: 2 });
    deepStrictEqual(
      { ...letters.takeAtLeast(0, 'all') },
      { kind: 'channel', id: 'all', type: Letters, min: 0, max: null },
    );
    deepStrictEqual({ ...letters.takeUpTo(3) }, { kind: 'channel', type: Letters, min: 0, max: 3 });
    deepStrictEqual(
      { ...parcels.takeBetween('north', 1, 4) },
      {
        kind: 'channel',
        type: Parcels,
        key: 'north',
        min: 1,
        max: 4,
      },
    );
  });

  it('[W4] [S8] refuses amounts that make no sense', () => {
    for (const amount of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '1', undefined]) {
      throws(() => letters.take(amount as number), { code: 'DEFINITION', where: 'Letters.take' });
      throws(() => letters.takeUpTo(amount as number), { code: 'DEFINITION' });
    }
    throws(() => letters.takeAtLeast(-1), { code: 'DEFINITION' });
    throws(() => letters.takeBetween(3, 2), { code: 'DEFINITION', message: /3 and 2/ });
    throws(() => parcels.take(undefined as any, 1), { code: 'DEFINITION' });
  });

  it('[W1] allOf and until are one candidate', () => {
    deepStrictEqual(until(letters.take(1)).candidates, [[0]]);
    deepStrictEqual(allOf(letters.take(1), Timer.after(1)).candidates, [[0, 1]]);
  });

  it('[W2] anyOf tries timers before Channels, each by declaration', () => {
    const wait = anyOf(letters.take(1), Timer.after(1), parcels.take('x', 1), Timer.at(5));
    deepStrictEqual(wait.candidates, [[1], [3], [0], [2]]);
    strictEqual(wait.conditions.length, 4);
  });

  it('[W1] [W2] anyCombinationOf keeps the given order and knows a condition again', () => {
    const a = letters.take(1, 'a');
    const b = parcels.take('x', 1, 'b');
    const c = Timer.after(1, 'c');
    deepStrictEqual(anyCombinationOf([a, b], [a, c]).candidates, [
      [0, 1],
      [0, 2],
    ]);
  });

  it('[W1] [S8] refuses empty lists, missing, empty and repeated ids', () => {
    const a = letters.take(1, 'a');
    throws(() => anyOf(), { code: 'DEFINITION' });
    throws(() => allOf(), { code: 'DEFINITION' });
    throws(() => anyCombinationOf(), { code: 'DEFINITION' });
    throws(() => anyCombinationOf([a], []), { code: 'DEFINITION' });
    throws(() => anyCombinationOf([a], [letters.take(1)]), { code: 'DEFINITION', message: /without an id/ });
    throws(() => anyCombinationOf([a], [letters.take(1, 'a')]), { code: 'DEFINITION', message: /have the id 'a'/ });
    throws(() => allOf(a, Timer.after(1, 'a')), { code: 'DEFINITION', message: /have the id 'a'/ });
    throws(() => allOf(a, a), { code: 'DEFINITION', message: /same condition twice/ });
    throws(() => anyOf(undefined as unknown as Condition), { code: 'DEFINITION' });
    throws(() => anyCombinationOf(a as any), { code: 'DEFINITION' });
  });

  it('is known by its brand and frozen', () => {
    const wait = until(letters.take(1));
    ok(isWait(wait) && !isDecision(wait) && !isWait({ conditions: [], candidates: [] }) && !isWait(null));
    ok(Object.isFrozen(wait));
  });
});
