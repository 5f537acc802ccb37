import { deepStrictEqual, throws } from 'node:assert';
import { compile, lowerOverrides } from '../../lib/compiler';
import { defaultRetry } from '../../lib/plan';
import { Balance, ChargeStep, OrderFlow, OrderStatus, RefundStep } from './order-flow';

describe('movement options', () => {
  const flow = compile([OrderFlow]).flowOf(OrderFlow)!;
  const lower = (options: object) => lowerOverrides(options, flow, 'ShipStep options', 'ShipStep');

  it('[S9] replace only what they name', () => {
    deepStrictEqual(lower({}), {});
    deepStrictEqual(lower({ timeout: '3s' }), { waitFor: { timeoutMs: 3_000 }, execute: { timeoutMs: 3_000 } });
    deepStrictEqual(lower({ execute: { taskQueue: 'slow' } }), { execute: { taskQueue: 'slow' } });
    deepStrictEqual(lower({ timeout: 5, waitFor: { timeout: 7 } }), {
      waitFor: { timeoutMs: 7 },
      execute: { timeoutMs: 5 },
    });
  });

  it("[S9] merge a retry policy with the Step's, field by field", () => {
    deepStrictEqual(lower({ execute: { retry: { jitter: 0.5 } } }), {
      execute: { retry: { ...defaultRetry, maximumAttempts: 5, jitter: 0.5 } },
    });
  });

  it('[S9] [X8] replace the failure routes', () => {
    deepStrictEqual(lower({ onFailure: null, onWaitForFailure: 'fail' }), {
      onFailure: null,
      onWaitForFailure: 'fail',
    });
    deepStrictEqual(lower({ onFailure: () => RefundStep }), { onFailure: 'RefundStep' });
  });

  it('[L1] say otherwise than the Step about the locks they name', () => {
    deepStrictEqual(lower({ locks: [{ attribute: Balance, mode: 'none' }] }), { locks: [] });
    deepStrictEqual(lower({ locks: [OrderStatus] }), {
      locks: [
        { attribute: 'Balance', mode: 'exclusive', keyPath: null },
        { attribute: 'status', mode: 'exclusive', keyPath: null },
      ],
    });
  });

  it('[S8] [C19] refuse what makes no sense, by a typed error that names the place', () => {
    throws(() => lower({ timeout: -1 }), { code: 'INVALID_DURATION', where: 'ShipStep options timeout' });
    throws(() => lower({ retry: { initialInterval: 'abc' } }), { code: 'INVALID_DURATION' });
    throws(() => lower({ retry: { maximumAttempts: 0 } }), { code: 'DEFINITION' });
    throws(() => lower({ onFailure: () => class Other {} }), { code: 'DEFINITION', message: /Other, which this Flow/ });
    throws(() => lower({ durability: 'sync' }), { code: 'DEFINITION', fix: 'Did you mean SYNC?' });
    throws(() => lower({ name: 'x' }), { code: 'DEFINITION', message: /an option named name/ });
    throws(() => lower({ locks: [class Unknown {}] }), { code: 'DEFINITION' });
    throws(() => lower({ onFailure: ChargeStep }), { code: 'DEFINITION' });
  });
});
