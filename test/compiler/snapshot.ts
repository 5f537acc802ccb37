import { strictEqual } from 'node:assert';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Compares a text with the one kept under its name; `UPDATE_SNAPSHOTS=1` keeps the new one. A missing one fails. */
export function matchSnapshot(name: string, text: string): void {
  const file = join(__dirname, '__snapshots__', `${name}.txt`);
  if (process.env.UPDATE_SNAPSHOTS === '1') {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return;
  }
  const kept = existsSync(file)
    ? readFileSync(file, 'utf8')
    : '(none: run with UPDATE_SNAPSHOTS=1 and read what it says)';
  strictEqual(text, kept, `${name} reads otherwise than its snapshot`);
}
