import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import type { SimulationReport } from '../lib/testing/simulation';
import { CompiledTree } from '../test/simulation/compiled-tree';
import { type Mutant, mutants } from '../test/simulation/mutants';
import { runSeeds } from '../test/simulation/seed-threads';

// Puts one deliberate bug after the other into a copy of the library, and says with which seed the simulation finds it:
// `npm run mutants`. Fails if one is not found.

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    threads: { type: 'string', default: String(cpus().length) },
    /** Only mutants with this in their name. */
    only: { type: 'string', default: '' },
  },
});

async function main(): Promise<void> {
  const tree = new CompiledTree();
  const chosen = mutants.filter(({ name }) => name.includes(flags.only!));
  let missed = 0;
  for (const mutant of chosen) {
    const source = tree.source(mutant.file);
    tree.write(mutant.file, mutate(source, mutant));
    const found = await firstViolation(tree.thread);
    tree.write(mutant.file, source);
    if (!found) missed++;
    const result = found ? `seed ${String(found.seed).padEnd(5)} ${found.violation!.rule}` : 'NOT FOUND';
    console.log(`${mutant.name.padEnd(74)} ${result}`);
  }
  tree.remove();
  console.log(`\n${chosen.length - missed} of ${chosen.length} found within ${flags.seeds} seeds`);
  if (missed > 0) process.exitCode = 1;
}

function mutate(source: string, { name, file, find, replace }: Mutant): string {
  const parts = source.split(find);
  if (parts.length !== 2) throw new Error(`“${name}”: its place in ${file} is there ${parts.length - 1} times.`);
  return parts.join(replace);
}

async function firstViolation(thread: string): Promise<SimulationReport | undefined> {
  const violations: SimulationReport[] = [];
  await runSeeds({
    thread,
    threads: Number(flags.threads),
    first: 1,
    count: Number(flags.seeds),
    stopsAtViolation: true,
    onResult: (result) => violations.push(...result.violations),
  });
  return violations.sort((a, b) => a.seed - b.seed)[0];
}

main();
