import { Flow, gracefulComplete, Holdfast, Step } from '../../index';

@Step()
class GreetStep {
  execute(name: string) {
    return gracefulComplete(`Hello, ${name}!`);
  }
}

@Flow()
class HelloFlow {
  static readonly start = GreetStep;
}

async function main() {
  const holdfast = await Holdfast.open({ flows: [HelloFlow], store: process.argv[2] ?? 'memory:' });
  const { client } = holdfast;
  const flowId = `hello-${Date.now()}`;
  await client.start(HelloFlow, flowId, 'world');
  console.log(await client.result(HelloFlow, flowId));
  console.table((await client.history(flowId)).map(({ number, kind }) => ({ number, kind })));
  await holdfast.close();
}

main();
