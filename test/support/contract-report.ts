import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Where `npm run contract` finds on which stacks each rule ran last. */
export const reportFile = join(__dirname, '..', '..', 'node_modules', '.cache', 'holdfast', 'contract-stacks.json');

interface Ran {
  readonly title: string;
  readonly rules: Set<string>;
  tests: number;
}

const stacks = new Map<string, Ran>();

/** Counts the tests of the running `describe` for a stack. */
export function countTests(stack: string, title: string): void {
  afterEach(function () {
    const { currentTest } = this;
    if (currentTest?.state !== 'passed') return;
    const ran = stacks.get(stack) ?? { title, rules: new Set(), tests: 0 };
    stacks.set(stack, ran);
    ran.tests++;
    // Those of field cases have two digits.
    for (const [, id] of currentTest.title.matchAll(/\[([A-Z]\d+)\]/g)) if (!/^C\d\d$/.test(id!)) ran.rules.add(id!);
  });
}

/** Prints per stack how much of the contract ran, and keeps it for `npm run contract`. */
export function report(): void {
  if (stacks.size === 0) return;
  console.log('\n  Contract rules by stack');
  for (const { title, rules, tests } of stacks.values()) {
    console.log(`    ${title.padEnd(52)} ${`${rules.size}`.padStart(3)} rules in ${tests} tests`);
  }
  mkdirSync(dirname(reportFile), { recursive: true });
  const before = existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, 'utf8')) : {};
  const now = Object.fromEntries([...stacks].map(([id, { rules }]) => [id, [...rules]]));
  writeFileSync(reportFile, JSON.stringify({ ...before, ...now }));
}
