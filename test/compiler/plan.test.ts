import { notStrictEqual, strictEqual } from 'node:assert';
import { compile } from '../../lib/compiler';
import { canonicalJson, fingerprintOf, toMermaid } from '../../lib/plan';
import { OrderFlow } from './order-flow';
import { matchSnapshot } from './snapshot';

describe('plans', () => {
  const { plan } = compile([OrderFlow]).flowOf(OrderFlow)!;
  const { fingerprint, ...rest } = plan;

  it('[V2] have a fingerprint that is the same for every key order', () => {
    const reversed = Object.fromEntries(Object.entries(rest).reverse()) as typeof rest;
    strictEqual(fingerprintOf(rest), fingerprint);
    strictEqual(fingerprintOf(reversed), fingerprint);
    strictEqual(fingerprintOf(JSON.parse(JSON.stringify(rest))), fingerprint);
    strictEqual(compile([OrderFlow]).flowOf(OrderFlow)!.plan.fingerprint, fingerprint);
    strictEqual(/^[0-9a-f]{16}$/.test(fingerprint), true);
  });

  it('[V2] have another fingerprint when anything differs', () => {
    const { ShipStep } = rest.steps;
    const changed = { ...rest, steps: { ...rest.steps, ShipStep: { ...ShipStep, onFailure: null } } };
    notStrictEqual(fingerprintOf(changed), fingerprint);
    notStrictEqual(fingerprintOf({ ...rest, name: 'Order' }), fingerprint);
  });

  it('write canonical JSON', () => {
    strictEqual(canonicalJson({ b: [1, { d: null, c: 'é' }], a: undefined }), '{"b":[1,{"c":"é","d":null}]}');
  });

  it('are drawn as Mermaid', () => {
    matchSnapshot(
      'order-flow-mermaid',
      toMermaid(plan, [
        ['ChargeStep', 'ShipStep'],
        ['ShipStep', 'Gone'],
      ]),
    );
  });

  it('read as kept', () => {
    matchSnapshot('order-flow-plan', `${JSON.stringify(plan, null, 2)}\n`);
  });
});
