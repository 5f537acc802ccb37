import { Flow, gracefulComplete, Holdfast, Step } from '../../index';
import { printHistory } from '../history-table';

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
  // `memory:` forgets everything at the end; `file:` and `lmdb:` with a folder do not.
  const holdfast = await Holdfast.open({ flows: [HelloFlow], store: process.argv[2] ?? 'memory:' });
  const { client } = holdfast;
  const flowId = `hello-${Date.now()}`;
  await client.start(HelloFlow, flowId, 'world');
  console.log(await client.result(HelloFlow, flowId));
  console.log();
  printHistory(await client.history(flowId));
  await holdfast.close();
}

main();
