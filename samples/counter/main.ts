import { setTimeout as pause } from 'node:timers/promises';
import {
  Attribute,
  DurableAttribute,
  Flow,
  goToMany,
  gracefulComplete,
  Holdfast,
  initially,
  Lock,
  Step,
  to,
} from '../../index';

const steps = 20;

/** Whoever takes it in `execute` holds its lock: read, think and write without losing an update. */
@Attribute(Lock.exclusive)
class Counter extends DurableAttribute<number> {}

/** The same without a lock, to see the difference. */
@Attribute()
class Careless extends DurableAttribute<number> {}

@Step({ name: 'Begin' })
class BeginStep {
  execute() {
    const movements = Array.from({ length: steps }, () => [to(AddStep), to(AddCarelesslyStep)]).flat();
    return goToMany(movements);
  }
}

@Step({ name: 'Add' })
class AddStep {
  constructor(private readonly counter: Counter) {}

  async execute() {
    const before = this.counter.get() ?? 0;
    await pause(5);
    this.counter.set(before + 1);
    return gracefulComplete();
  }
}

@Step({ name: 'AddCarelessly' })
class AddCarelesslyStep {
  constructor(private readonly careless: Careless) {}

  async execute() {
    const before = this.careless.get() ?? 0;
    await pause(5);
    this.careless.set(before + 1);
    return gracefulComplete();
  }
}

@Flow({ name: 'counter' })
class CounterFlow {
  static readonly start = BeginStep;
  static readonly steps = [AddStep, AddCarelesslyStep];
}

async function main() {
  const holdfast = await Holdfast.open({ flows: [CounterFlow], store: 'memory:' });
  const { client } = holdfast;
  await client.start(CounterFlow, 'count', undefined, { attributes: [initially(Counter, 0), initially(Careless, 0)] });
  await client.result(CounterFlow, 'count');
  const values = await client.attributes(CounterFlow, 'count');
  console.log(`${steps} Steps added 1 to each, all at the same time:`);
  console.log(`  with an exclusive lock: ${values.get(Counter)}`);
  console.log(`  without:                ${values.get(Careless)}`);
  await holdfast.close();
}

main();
