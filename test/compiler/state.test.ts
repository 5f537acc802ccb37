import { deepStrictEqual, strictEqual, throws } from 'node:assert';
import { Attribute, Channel } from '../../decorators';
import {
  DurableAttribute,
  DurableAttributeMap,
  DurableChannel,
  DurableChannelMap,
  type Invocation,
  runInvocation,
} from '../../lib/authoring';

@Attribute()
class Balance extends DurableAttribute<number | null> {}

@Attribute()
class Accounts extends DurableAttributeMap<number> {}

@Channel()
class Letters extends DurableChannel<string> {}

@Channel()
class Parcels extends DurableChannelMap<string> {}

function recorder() {
  const calls: unknown[][] = [];
  const values = new Map<unknown, unknown>();
  const id = (type: { name: string }, key?: string) => (key === undefined ? type.name : `${type.name} ${key}`);
  const invocation: Invocation = {
    label: 'o-1 Ship-1.execute',
    ended: false,
    attributes: {
      read: (type, key) => values.get(id(type, key)),
      write: (type, key, value) => values.set(id(type, key), value),
      remove: (type, key) => values.delete(id(type, key)),
      keys: (type) =>
        [...values.keys()].flatMap((each) => (String(each).startsWith(`${type.name} `) ? [String(each)] : [])),
    },
    channels: {
      publish: (type, key, value) => calls.push(['publish', id(type, key), value]),
      received: (type, key) => [id(type, key)],
      pending: (type, key) => [id(type, key), 'second'],
      size: () => 2,
    },
    startSubFlow: (type) => `child of ${type.name}`,
  };
  return { invocation, calls };
}

describe('Attributes and Channels', () => {
  const balance = new Balance();
  const accounts = new Accounts();
  const letters = new Letters();
  const parcels = new Parcels();

  it('[A2] [C1] [C4] go through the current invocation', () => {
    const { invocation, calls } = recorder();
    runInvocation(invocation, () => {
      balance.set(5);
      strictEqual(balance.get(), 5);
      balance.delete();
      strictEqual(balance.get(), undefined);
      balance.set(null);
      strictEqual(balance.get(), null);
      accounts.set('a', 1);
      accounts.set('b', 2);
      accounts.delete('a');
      deepStrictEqual([accounts.get('b'), accounts.has('a'), accounts.has('b'), accounts.size], [2, false, true, 1]);
      deepStrictEqual(accounts.keys(), ['Accounts b']);
      letters.publish('x');
      parcels.publish('north', 'y');
      deepStrictEqual([letters.received(), parcels.received('north')], [['Letters'], ['Parcels north']]);
      deepStrictEqual([letters.size, parcels.size('north')], [2, 2]);
      deepStrictEqual([letters.peek(1), parcels.peek('north')], [['Letters'], ['Parcels north', 'second']]);
    });
    deepStrictEqual(calls, [
      ['publish', 'Letters', 'x'],
      ['publish', 'Parcels north', 'y'],
    ]);
  });

  it('[A2] refuses undefined and says what to use', () => {
    runInvocation(recorder().invocation, () => {
      const refused = { code: 'DEFINITION', fix: /delete\(\)/ };
      throws(() => balance.set(undefined as any), refused);
      throws(() => accounts.set('a', undefined as any), refused);
      throws(() => accounts.get(1 as any), { code: 'DEFINITION' });
      throws(() => parcels.publish(1 as any, 'x'), { code: 'DEFINITION' });
    });
  });

  it('[A6] refuses use outside of a call and after its end', () => {
    const uses: [string, () => unknown][] = [
      ['Balance.get()', () => balance.get()],
      ['Balance.set()', () => balance.set(1)],
      ['Accounts.size', () => accounts.size],
      ['Letters.publish()', () => letters.publish('x')],
      ['Letters.received()', () => letters.received()],
      ['Parcels.peek()', () => parcels.peek('a')],
    ];
    for (const [name, use] of uses) {
      throws(use, { code: 'OUTSIDE_INVOCATION', message: `${name} was called outside of waitFor, execute or an RPC.` });
      const { invocation } = recorder();
      invocation.ended = true;
      throws(() => runInvocation(invocation, use), { code: 'OUTSIDE_INVOCATION', message: /is an await missing/ });
    }
  });
});
