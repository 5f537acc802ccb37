import {
  Attribute,
  Channel,
  continueAsNew,
  DurableAttribute,
  DurableChannel,
  Flow,
  gracefulComplete,
  Holdfast,
  HoldfastError,
  Query,
  Rpc,
  RpcRejected,
  Step,
  until,
  Validate,
} from '../../index';

interface Item {
  readonly name: string;
  readonly price: number;
}

@Channel()
class Added extends DurableChannel<Item | 'checkout'> {}

@Attribute()
class Items extends DurableAttribute<Item[]> {}

@Attribute()
class Cap extends DurableAttribute<number> {}

const total = (items: readonly Item[]) => items.reduce((sum, { price }) => sum + price, 0);
const perRun = 3;

/** Takes what is published, and begins a new run after a few messages: the cart may live for years. */
@Step({ name: 'Take' })
class TakeStep {
  constructor(
    private readonly added: Added,
    private readonly items: Items,
    private readonly cap: Cap,
  ) {}

  waitFor() {
    return until(this.added.takeBetween(1, perRun));
  }

  execute() {
    const items = [...(this.items.get() ?? [])];
    const messages = this.added.received();
    for (const message of messages) {
      if (message === 'checkout') continue;
      const fits = total(items) + message.price <= (this.cap.get() ?? 100);
      console.log(`  ${fits ? 'takes' : 'has no room for'} ${message.name} (${message.price})`);
      if (fits) items.push(message);
    }
    this.items.set(items);
    if (messages.includes('checkout')) return gracefulComplete({ items: items.length, total: total(items) });
    // What is published meanwhile goes along to the next run.
    return continueAsNew(CartFlow);
  }
}

@Flow({ name: 'cart' })
class CartFlow {
  static readonly start = TakeStep;

  constructor(
    private readonly items: Items,
    private readonly cap: Cap,
  ) {}

  /** Runs before `setCap`; what it turns down leaves no trace. */
  @Validate('setCap')
  protected checkCap(cap: number) {
    const used = total(this.items.get() ?? []);
    if (cap < used) throw new RpcRejected(`The cart holds ${used} already.`, { used });
  }

  @Rpc()
  setCap(cap: number) {
    this.cap.set(cap);
    return `the cap is ${cap}`;
  }

  @Query()
  contents() {
    const items = this.items.get() ?? [];
    return { names: items.map(({ name }) => name), total: total(items) };
  }
}

async function main() {
  const holdfast = await Holdfast.open({ flows: [CartFlow], store: 'memory:' });
  const { client } = holdfast;
  const cart = client.rpc(CartFlow, 'mara');
  const items = [
    { name: 'a lamp', price: 40 },
    { name: 'a chair', price: 55 },
    { name: 'a table', price: 90 },
  ];

  await client.start(CartFlow, 'mara');
  await client.publishAll(
    CartFlow,
    'mara',
    items.map((value) => ({ channel: Added, value })),
  );
  await client.waitForStep(CartFlow, 'mara', TakeStep);
  console.log('in the cart:', await cart.contents());

  const refused = await cart.setCap(10).catch((error: HoldfastError) => `${error.code}: ${error.message}`);
  console.log(refused);
  console.log(await cart.setCap(200));
  await client.publish(CartFlow, 'mara', Added, { name: 'a table', price: 90 });
  await client.publish(CartFlow, 'mara', Added, 'checkout');

  console.log('checked out:', await client.result(CartFlow, 'mara'));
  let runs = 1;
  for (let run = await client.describe('mara'); run.previousRunId !== null; runs++) {
    run = await client.describe('mara', { runId: run.previousRunId });
  }
  console.log(`It took ${runs} runs of one chain; the last has ${(await client.describe('mara')).events} events.`);
  await holdfast.close();
}

main();
