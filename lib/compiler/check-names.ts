import type { Naming } from '../authoring';
import type { Class } from '../ports';
import { type Report, show } from './finding';

/** A class with the name it goes by. */
export interface NamedThing {
  /** e.g. `@Step`. */
  readonly mark: string;
  readonly type: Class;
  readonly name: string;
  readonly record: { readonly options?: Naming } | undefined;
}

/** What has to be unique: a class, or a method under the same shape. */
export interface Unique {
  readonly name: string;
  readonly type: { readonly name: string };
  readonly record: NamedThing['record'];
}

const mostBytes = 128;

/** A name is stored for as long as runs live: it must be there, short, and the same in every build (F1). */
export function checkName({ mark, type, name, record }: NamedThing, report: Report): void {
  const given = record?.options?.name !== undefined;
  const where = `${type.name === '' ? 'a class without a name' : type.name} ${mark}${given ? ' name' : ''}`;
  checkText(
    name,
    where,
    given ? 'Give another name, or none to take that of the class.' : `Give a name: ${mark}({ name: 'order' }).`,
    report,
  );
  if (!given && typeof name === 'string' && [...name].length === 1) {
    report({
      code: 'MINIFIED_NAME',
      where,
      found: `the class name ${name}, which looks like a minifier's`,
      expected: 'a name that stays the same in every build, as it is stored',
      fix: `Give the name in the decorator: ${mark}({ name: '…' }).`,
    });
  }
  checkAliases(record?.options?.aliases, `${type.name} ${mark}`, report);
}

/** Aliases of a class or an RPC. */
export function checkAliases(aliases: unknown, of: string, report: Report): void {
  if (aliases === undefined) return;
  const where = `${of} aliases`;
  if (!Array.isArray(aliases)) {
    const expected = 'a list of earlier names';
    report({ code: 'BAD_NAME', where, found: show(aliases), expected, fix: "Write aliases: ['OldName']." });
    return;
  }
  aliases.forEach((alias, index) => {
    checkText(alias, `${where}[${index}]`, 'Give an earlier name as it was stored.', report);
  });
}

/** The text of any name. */
export function checkText(name: unknown, where: string, fix: string, report: Report): void {
  const problem = problemOf(name);
  if (problem === undefined) return;
  const expected = `a text of 1 to ${mostBytes} bytes, without NUL, that is not a member of every object`;
  report({ code: 'BAD_NAME', where, found: problem, expected, fix });
}

/** Names and aliases of one kind of thing are one set: what is stored must lead back to one class (F1, V3). */
export function checkUnique(flow: string | undefined, kind: string, things: readonly Unique[], report: Report): void {
  const owners = new Map<string, Unique>();
  const within = flow === undefined ? 'among the Flows given' : `in the Flow ${flow}`;
  for (const thing of things) {
    const { name, type, record } = thing;
    const aliases = Array.isArray(record?.options?.aliases) ? record.options.aliases : [];
    for (const each of new Set([name, ...aliases])) {
      // Reported as a bad name.
      if (typeof each !== 'string' || each === '') continue;
      const owner = owners.get(each);
      if (owner === undefined) {
        owners.set(each, thing);
        continue;
      }
      report({
        code: 'DUPLICATE_NAME',
        where: flow === undefined ? type.name : `${flow} › ${type.name}`,
        found: `the ${each === name ? 'name' : 'alias'} '${each}', which ${owner.type.name === type.name ? 'another one' : owner.type.name} has too`,
        expected: `names and aliases of ${kind} that are unique ${within}`,
        fix: 'Give one of them another name in its decorator.',
      });
    }
  }
}

function problemOf(name: unknown): string | undefined {
  if (typeof name !== 'string') return show(name);
  if (name === '') return 'no name';
  if (name.includes('\0')) return 'a name with NUL';
  if (name in Object.prototype) return `'${name}', which every JavaScript object has`;
  const bytes = utf8Length(name);
  return bytes > mostBytes ? `a name of ${bytes} bytes` : undefined;
}

/** By hand, as the compiler uses nothing of its host. */
function utf8Length(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const point = character.codePointAt(0)!;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }
  return bytes;
}
