import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert';
import {
  deadEnd,
  forceComplete,
  forceFail,
  GoTo,
  goTo,
  goToMany,
  gracefulComplete,
  isDecision,
  RpcRejected,
  retryAfter,
  to,
} from '../../lib/authoring';
import { ChargeStep, RefundStep, ShipStep } from './order-flow';

const order = { id: 'o', amount: 1 };

describe('decisions', () => {
  it('[D1] goTo and goToMany carry movements', () => {
    const one = goTo(ShipStep, order);
    ok(one instanceof GoTo && isDecision(one));
    deepStrictEqual(
      one.movements.map(({ step, input, options }) => ({ step, input, options })),
      [{ step: ShipStep, input: order, options: {} }],
    );
    strictEqual(goToMany(to(ShipStep, order), to(RefundStep, order)).movements.length, 2);
    strictEqual(goToMany([order, order].map((each) => to(ShipStep, each))).movements.length, 2);
  });

  it('[D1] [S8] refuses an empty goToMany, and what is no Step', () => {
    throws(() => goToMany([]), { code: 'DEFINITION' });
    throws(() => (goToMany as any)(), { code: 'DEFINITION' });
    throws(() => (goToMany as any)(ShipStep), { code: 'DEFINITION' });
    throws(() => goTo(undefined as unknown as typeof ShipStep, order), { code: 'DEFINITION', message: /undefined/ });
  });

  it('[S9] options travel with a movement; later ones win', () => {
    const first = goTo(ShipStep, order);
    const second = first.with({ timeout: 1, taskQueue: 'a' }).with({ timeout: 2 });
    deepStrictEqual(second.movements[0].options, { timeout: 2, taskQueue: 'a' });
    deepStrictEqual(first.movements[0].options, {});
    deepStrictEqual(to(ShipStep, order).with({ timeout: 3 }).options, { timeout: 3 });
    throws(() => goToMany(to(ShipStep, order), to(RefundStep, order)).with({}), { code: 'DEFINITION' });
  });

  it('[D2] [D3] [D4] say whether they have an output', () => {
    deepStrictEqual({ ...gracefulComplete() }, { kind: 'gracefulComplete', hasOutput: false, output: undefined });
    deepStrictEqual({ ...gracefulComplete(null) }, { kind: 'gracefulComplete', hasOutput: true, output: null });
    deepStrictEqual({ ...forceComplete({ a: 1 }) }, { kind: 'forceComplete', hasOutput: true, output: { a: 1 } });
    deepStrictEqual({ ...forceFail('no stock') }, { kind: 'forceFail', reason: 'no stock' });
    deepStrictEqual({ ...deadEnd() }, { kind: 'deadEnd' });
  });

  it('[D6] cancelling gives a new decision and gathers Steps', () => {
    const plain = deadEnd();
    const both = plain.cancelling(ShipStep).cancelling(RefundStep, ShipStep);
    strictEqual(plain.cancels, undefined);
    deepStrictEqual(both.cancels, { steps: [ShipStep, RefundStep], siblingsOnly: false });
    deepStrictEqual(goTo(ChargeStep, order).cancellingSiblings(ShipStep).cancels?.siblingsOnly, true);
    ok(isDecision(both) && !isDecision({ kind: 'deadEnd' }));
    throws(() => both.cancellingSiblings(ShipStep), { code: 'DEFINITION' });
  });

  it('[X1] retryAfter carries a delay and its cause', () => {
    const cause = new TypeError('busy');
    const error = retryAfter('30s', cause);
    deepStrictEqual([error.delayMs, error.cause, error.message, error.name], [30_000, cause, 'busy', 'RetryAfter']);
    throws(() => retryAfter('soon'), { code: 'INVALID_DURATION', where: 'retryAfter' });
  });

  it('[R4] RpcRejected carries details', () => {
    deepStrictEqual(new RpcRejected('no', { field: 'by' }).details, { field: 'by' });
  });
});
