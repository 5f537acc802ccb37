import assert from 'node:assert/strict';
import { CompileError, compile, Holdfast, type Logger } from '../../index';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { TestEnvironment } from '../../lib/testing';
import { orders } from './build/orders';
import { builders, type Files } from './build/programs';

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const plain = 'tsc ES2022, useDefineForClassFields false, emitDecoratorMetadata true';

/** What the compiler makes of a program's Flows. */
function plansOf(flows: any[]): unknown[] {
  return [...compile(flows).flows.values()].map(({ plan }) => plan);
}

function findingsOf(flows: any[]): string {
  try {
    compile(flows);
  } catch (error) {
    if (error instanceof CompileError) return error.message;
    throw error;
  }
  return '';
}

describe('Decorators, class registration, build targets', () => {
  for (const [name, build] of Object.entries(builders)) {
    it(`[C67] the same source means and does the same: ${name}`, async () => {
      const expected = await builders[plain]!(orders({ named: true, listed: true }), './flows');
      const { flows, OrderFlow, PingFlow } = await build(orders({ named: true, listed: true }), './flows');
      assert.deepEqual(plansOf(flows), plansOf(expected.flows));
      const env = await TestEnvironment.open({ flows });
      await env.client.start(OrderFlow, 'o', 21 as never);
      await env.client.start(PingFlow, 'p');
      await env.settled();
      const rpc = env.client.rpc(OrderFlow, 'o') as any;
      assert.equal(await rpc.due(), 42);
      assert.equal(await rpc.pay(9), 'o paid');
      assert.equal(await env.client.result(OrderFlow, 'o'), 'priced 42 9 true');
      assert.equal(await env.client.result(PingFlow, 'p'), 'pong');
      await env.close();
    });

    it(`[C67] without a list of parameters it is the same, or says at start-up what is missing: ${name}`, async () => {
      const { flows, OrderFlow } = await build(orders({ named: true, listed: false }), './flows');
      if (name.includes('emitDecoratorMetadata true')) {
        const expected = await builders[plain]!(orders({ named: true, listed: true }), './flows');
        assert.deepEqual(plansOf(flows), plansOf(expected.flows));
        return;
      }
      const text = findingsOf(flows);
      for (const type of [OrderFlow.start, ...OrderFlow.steps])
        assert.ok(text.includes(`${type.name} constructor`), text);
      assert.match(text, /inject/);
      assert.match(text, /design types|emitDecoratorMetadata/);
    });
  }

  it('[C64] what was begun in one build goes on in a minified one, by explicit names', async () => {
    const store = new MemoryStateStore();
    const options = { store, logger: silent };
    const before = await builders[plain]!(orders({ named: true, listed: true }), './flows');
    const first = await Holdfast.open({ ...options, flows: before.flows });
    await first.client.start(before.OrderFlow, 'o', 21 as never);
    await first.client.waitForStep(before.OrderFlow, 'o', before.OrderFlow.start);
    await first.close();
    const after = await builders['esbuild, minified']!(orders({ named: true, listed: true }), './flows');
    assert.notEqual(after.OrderFlow.name, before.OrderFlow.name);
    const second = await Holdfast.open({ ...options, flows: after.flows });
    await second.client.publish(after.OrderFlow, 'o', after.Payments, 7 as never);
    assert.equal(await second.client.result(after.OrderFlow, 'o'), 'priced 42 7 true');
    await second.close();
  });

  it('[C64] minified without explicit names it does not start, and says which classes and why', async () => {
    const { flows, OrderFlow } = await builders['esbuild, minified']!(
      orders({ named: false, listed: true }),
      './flows',
    );
    const text = findingsOf(flows);
    assert.ok(text.includes(OrderFlow.name), text);
    assert.match(text, /minif/);
    assert.match(text, /name:/);
  });
});

/** Steps and Flows of two files that name each other. */
function circular(lazy: boolean): Files {
  return {
    './a': `
import { Flow, Step, goTo } from 'holdfast';
import { BStep } from './b';
@Step({ name: 'A', inject: [], onFailure: () => BStep, retry: { maximumAttempts: 1 } })
export class AStep { execute(round: number) { if (round === 0) throw new Error('to B'); return goTo(BStep, round); } }
@Flow({ name: 'a', inject: [] })
export class AFlow {
  static ${lazy ? 'get start() { return AStep; }' : 'readonly start = AStep;'}
  static ${lazy ? 'get steps() { return [BStep]; }' : 'readonly steps = [BStep];'}
}`,
    './b': `
import { Flow, Step, goTo, gracefulComplete } from 'holdfast';
import { AStep } from './a';
@Step({ name: 'B', inject: [], onFailure: () => AStep })
export class BStep {
  execute(round: number) { return round === 1 ? goTo(AStep, 2) : gracefulComplete('b ' + round); }
}
@Flow({ name: 'b', inject: [] })
export class BFlow {
  static ${lazy ? 'get start() { return BStep; }' : 'readonly start = BStep;'}
  static ${lazy ? 'get steps() { return [AStep]; }' : 'readonly steps = [AStep];'}
}`,
    './a first': `export { AFlow } from './a'; export { BFlow } from './b';`,
    './b first': `export { BFlow } from './b'; export { AFlow } from './a';`,
    './only a': `import { AFlow } from './a'; export { AFlow }; export { BFlow } from './b';`,
  };
}

describe('Circular imports', () => {
  for (const entry of ['./a first', './b first', './only a']) {
    for (const name of [
      plain,
      'tsc ES2020, useDefineForClassFields true, emitDecoratorMetadata true',
      'esbuild, minified',
    ]) {
      it(`[C68] named late they work: ${entry.slice(2)}, ${name}`, async () => {
        const { AFlow, BFlow } = await builders[name]!(circular(true), entry);
        const env = await TestEnvironment.open({ flows: [AFlow, BFlow] });
        await env.client.start(AFlow, 'a', 0 as never);
        await env.client.start(BFlow, 'b', 1 as never);
        await env.settled();
        assert.equal(await env.client.result(AFlow, 'a'), 'b 0');
        assert.equal(await env.client.result(BFlow, 'b'), 'b 2');
        await env.close();
      });

      it(`[C68] named early they work, or the class is named at start-up: ${entry.slice(2)}, ${name}`, async () => {
        let built: Record<string, any>;
        try {
          built = await builders[name]!(circular(false), entry);
        } catch (error) {
          // The build tool's own words, before any code of the library ran.
          assert.match(String(error), /before initialization|undefined/);
          return;
        }
        const text = findingsOf([built.AFlow, built.BFlow]);
        if (text !== '') assert.match(text, /\.(start|steps).*not loaded yet.*make it a getter/s);
        else assert.equal(plansOf([built.AFlow, built.BFlow]).length, 2);
      });
    }
  }
});
