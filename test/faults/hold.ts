import { Holdfast } from '../../index';
import { LoadFlow } from './load-flow';

/** `hold <store>`: keeps the store open until its input ends, or prints why it cannot. */
async function main() {
  const holdfast = await Holdfast.open({ flows: [LoadFlow], store: process.argv[2]! });
  console.log('open');
  process.stdin.resume();
  await new Promise((resolve) => process.stdin.once('end', resolve));
  await holdfast.close();
}

main().catch((error) => console.log(error.code));
