import { Flow, gracefulComplete, Holdfast, Step } from '../../index';

/** Leaves a rejected promise behind when it is told to. */
@Step()
class StrayStep {
  async execute(name: string) {
    if (name === 'stray') void Promise.reject(new Error('left alone'));
    await new Promise((resolve) => setImmediate(resolve));
    return gracefulComplete(`${name}: done`);
  }
}

@Flow()
class StrayFlow {
  static readonly start = StrayStep;
}

async function main() {
  const holdfast = await Holdfast.open({ flows: [StrayFlow], store: 'memory:' });
  for (const name of ['stray', 'other']) await holdfast.client.start(StrayFlow, name, name);
  for (const name of ['stray', 'other']) console.log(await holdfast.client.result(StrayFlow, name));
  await holdfast.close();
}

main();
