import assert from 'node:assert/strict';
import type { Client } from '../../index';
import type { TestCluster } from './cluster';
import { CollectFlow, CountFlow, Orders, PayFlow, RaceFlow } from './cluster-flows';

/** Flows of several kinds in the middle of their lives, and the sums that must come out however rough the way is. */
export class Load {
  private constructor(
    private readonly client: Client,
    private readonly name: string,
    private readonly flows: number,
  ) {}

  /** Starts the flows, and publishes the first message to each that collects. All of it is acknowledged. */
  static async start(client: Client, name: string, flows: number): Promise<Load> {
    const load = new Load(client, name, flows);
    await Promise.all(
      load.each(async (i) => {
        await client.start(CountFlow, `${name}-count-${i}`, { left: 10, pauseMs: 30 });
        await client.start(CollectFlow, `${name}-collect-${i}`, 3);
        await client.publish(CollectFlow, `${name}-collect-${i}`, Orders, 1);
        await client.start(RaceFlow, `${name}-timer-${i}`, 2_000);
        await client.start(RaceFlow, `${name}-race-${i}`, 600_000);
        await client.start(PayFlow, `${name}-pay-${i}`, 5);
      }),
    );
    return load;
  }

  /** Publishes what is still awaited. */
  async feed(): Promise<void> {
    const { client, name } = this;
    await Promise.all(
      this.each(async (i) => {
        await client.publishAll(
          CollectFlow,
          `${name}-collect-${i}`,
          [2, 3].map((value) => ({ channel: Orders, value })),
        );
        await client.publish(RaceFlow, `${name}-race-${i}`, Orders, i);
      }),
    );
  }

  /** Waits for every flow, and checks what came out; with `once`, that every body ran once. */
  async check(cluster: TestCluster, once = true): Promise<void> {
    const { client, name } = this;
    await Promise.all(
      this.each(async (i) => {
        assert.equal(await client.result(CountFlow, `${name}-count-${i}`), 55);
        assert.equal(await client.result(CollectFlow, `${name}-collect-${i}`), 3);
        assert.equal(await client.result(RaceFlow, `${name}-timer-${i}`), 'timer');
        assert.equal(await client.result(RaceFlow, `${name}-race-${i}`), `order ${i}`);
        await client.outputs(PayFlow, `${name}-pay-${i}`);
        assert.equal(await client.rpc(PayFlow, `${name}-pay-${i}`).paid(), 15);
      }),
    );
    if (!once) return;
    for (const i of this.each(Number)) {
      const orders = await cluster.effects('order', `${name}-collect-${i}`);
      assert.deepEqual(
        orders,
        [1, 2, 3].map((n) => `order ${name}-collect-${i} ${n}`),
      );
      assert.equal((await cluster.effects('count', `${name}-count-${i}`)).length, 11);
      assert.equal((await cluster.effects('race', `${name}-timer-${i}`)).length, 1);
      assert.equal((await cluster.effects('pay', `${name}-pay-${i}`)).length, 5);
    }
  }

  private each<T>(act: (i: number) => T): T[] {
    return Array.from({ length: this.flows }, (_, i) => act(i));
  }
}
