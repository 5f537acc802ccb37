import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import * as ts from 'typescript';
import { reportFile } from '../test/support/contract-report';

/**
 * Which rules of docs/contract.md the tests name in their titles, and on which stacks they ran last; fails when a rule that
 * is done has no test.
 */

const root = join(__dirname, '..');

interface Rule {
  readonly id: string;
  readonly done: boolean;
}

interface Mention {
  readonly id: string;
  readonly file: string;
}

function readRules(): Rule[] {
  const text = readFileSync(join(root, 'docs/contract.md'), 'utf8');
  const rules = [...text.matchAll(/^- \*\*([A-Z]\d+)\*\* \((done|not yet)\)/gm)];
  return rules.map(([, id, state]) => ({ id: id!, done: state === 'done' }));
}

function testFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** Ids such as `[X1]` in the titles of tests that are not skipped; those of a `describe` count for it as one test. */
function mentionsIn(file: string): Mention[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  const mentions: Mention[] = [];
  const visit = (node: ts.Node): void => {
    if (
      ts.isCallExpression(node) &&
      ts.isIdentifier(node.expression) &&
      /^(it|describe\w*)$/.test(node.expression.text)
    ) {
      const title = node.arguments[0]?.getText(source) ?? '';
      for (const [, id] of title.matchAll(/\[([A-Z]\d+)\]/g)) mentions.push({ id: id!, file: relative(root, file) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return mentions;
}

/** Names of stacks by rule, as the last run of the contract suite noted them. */
function readStacks(): Map<string, string[]> {
  const stacks = new Map<string, string[]>();
  if (!existsSync(reportFile)) return stacks;
  const noted = JSON.parse(readFileSync(reportFile, 'utf8')) as Record<string, string[]>;
  for (const [stack, ids] of Object.entries(noted)) {
    for (const id of ids) stacks.set(id, [...(stacks.get(id) ?? []), stack]);
  }
  return stacks;
}

function main(): void {
  const rules = readRules();
  if (rules.length === 0) throw new Error('docs/contract.md has no rules of the form "- **F1** (done) …".');
  const mentions = testFiles(join(root, 'test')).flatMap(mentionsIn);
  const stacks = readStacks();
  const missing: string[] = [];
  for (const { id, done } of rules) {
    const own = mentions.filter((mention) => mention.id === id);
    const files = [...new Set(own.map(({ file }) => file))];
    const tests = own.length === 0 ? '' : `${own.length} ${own.length === 1 ? 'test' : 'tests'}: ${files.join(', ')}`;
    if (done && own.length === 0) missing.push(id);
    console.log(`${id.padEnd(4)} ${done ? tests || 'NO TEST' : ['not yet', tests].filter(Boolean).join('; ')}`);
    if (stacks.has(id)) console.log(`     ran on ${stacks.get(id)!.join(', ')}`);
  }
  const known = new Set(rules.map(({ id }) => id));
  // Field cases are named too: theirs are C and two digits.
  const unknown = new Set(mentions.map(({ id }) => id).filter((id) => !known.has(id) && !/^C\d\d$/.test(id)));
  const done = rules.filter((rule) => rule.done).length;
  console.log(`\n${done} of ${rules.length} rules are done; ${missing.length} of them without a test.`);
  if (unknown.size > 0) console.log(`Named by tests and not in docs/contract.md: ${[...unknown].join(', ')}`);
  if (missing.length > 0 || unknown.size > 0) process.exitCode = 1;
}

main();
