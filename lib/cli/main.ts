#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { checkUsage, runCheckCommand } from './check-command';
import { examine } from './doctor';
import { indexUsage, runIndexCommand } from './index-command';

const usage = `${checkUsage}

${indexUsage}

holdfast doctor [--redis <url>] [--store <url>] [--namespace <name>]

Looks whether Redis and the store do what a cluster relies on: Redis' version and eviction policy, the clocks of the hosts,
and that a second owner of a shard fences the first. Credentials of the store come from the environment. Ends with 1 when
something cannot be relied on.`;

async function main(args: string[]): Promise<number> {
  if (args[0] === 'check') return runCheckCommand(args.slice(1));
  if (args[0] === 'index') return runIndexCommand(args.slice(1));
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { redis: { type: 'string' }, store: { type: 'string' }, namespace: { type: 'string' } },
  });
  if (positionals[0] !== 'doctor' || (values.redis === undefined && values.store === undefined)) {
    console.error(usage);
    return 2;
  }
  const examined = await examine(values);
  for (const { what, ok, found, proves } of examined) {
    console.log(`${ok ? 'ok     ' : 'FAILED '} ${what}: ${found}`);
    console.log(`        ${ok ? 'proves' : 'not proven'}: ${proves}`);
  }
  return examined.every(({ ok }) => ok) ? 0 : 1;
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 2;
  },
);
