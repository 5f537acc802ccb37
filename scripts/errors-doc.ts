import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CatalogueEntry, catalogue, type ErrorKind } from '../lib/errors';

export const errorsDocPath = join(__dirname, '../docs/errors.md');

const kinds: Record<ErrorKind, string> = {
  definition: 'Change the code of the Flow: repeating will not help.',
  usage: 'Change the call.',
  conflict: 'Something else is there already; this is an answer, not a fault.',
  rejected: 'The call was understood and turned down; this is an answer, not a fault.',
  transient: 'Repeat with the same id: it is applied once.',
  fenced: 'Another owner took over and goes on.',
  corrupt: 'Stored data cannot be read, or a rule of the library was broken.',
};

/** The text of docs/errors.md. */
export function errorsDoc(): string {
  const entries: [string, CatalogueEntry][] = Object.entries(catalogue);
  const used = Object.entries(kinds).filter(([kind]) => entries.some(([, entry]) => entry.kind === kind));
  return [
    '# Errors',
    '',
    '<!-- Made from lib/errors/catalogue.ts by `npm run docs:errors`. -->',
    '',
    'Every error is a `HoldfastError`. `code` is stable, `kind` says what a caller can do, `where` what it is about and',
    '`fix` what to do. What a Step throws itself is kept with its name, message, stack and cause, and comes back as the',
    '`cause` of `FLOW_FAILED`.',
    '',
    ...used.map(([kind, advice]) => `- \`${kind}\`: ${advice}`),
    '',
    ...entries.flatMap(([code, { name, kind, meaning, fix }]) => [
      `## ${code}`,
      '',
      `\`${name}\`, ${kind}. ${meaning}`,
      '',
      `**What to do:** ${fix}`,
      '',
    ]),
  ].join('\n');
}

if (require.main === module) writeFileSync(errorsDocPath, errorsDoc());
