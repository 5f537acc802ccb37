import type { Class } from '../ports';
import { type Report, show } from './finding';

const lazily = 'If two files import each other, make it a getter: static get';

/** The class's `static start`, if it has one that is a class. */
export function readStart(type: Class, report: Report): Class | undefined {
  const where = `${type.name}.start`;
  const read = readStatic(type, 'start');
  if (read.kind === 'absent') return undefined;
  if (read.kind === 'unready') {
    report(unready(where, `${lazily} start() { return FirstStep; }.`));
    return undefined;
  }
  if (Array.isArray(read.value)) {
    report({
      code: 'SEVERAL_START_STEPS',
      where,
      found: `a list of ${read.value.length}: ${read.value.map(show).join(', ')}`,
      expected: 'at most one start Step (F2)',
      fix: 'Name one class, which can go on to several with goToMany; list the others in static steps.',
    });
    return undefined;
  }
  if (typeof read.value === 'function') return read.value as unknown as Class;
  report(notAClass(where, read.value, 'a Step class'));
  return undefined;
}

/** The classes in `static steps`; what is not a class is reported. */
export function readSteps(type: Class, report: Report): readonly Class[] {
  const where = `${type.name}.steps`;
  const getter = `${lazily} steps() { return [FirstStep, …]; }.`;
  const read = readStatic(type, 'steps');
  if (read.kind === 'absent') return [];
  if (read.kind === 'unready') {
    report(unready(where, getter));
    return [];
  }
  if (!Array.isArray(read.value)) {
    report(notAClass(where, read.value, 'a list of Step classes'));
    return [];
  }
  return read.value.flatMap((step: unknown, index) => {
    if (typeof step === 'function') return [step as unknown as Class];
    const at = `${where}[${index}]`;
    report(step === undefined ? unready(at, getter) : notAClass(at, step, 'a Step class'));
    return [];
  });
}

type Static = { kind: 'absent' } | { kind: 'unready' } | { kind: 'value'; value: unknown };

function readStatic(type: Class, name: string): Static {
  if (!(name in type)) return { kind: 'absent' };
  try {
    const value: unknown = (type as unknown as Record<string, unknown>)[name];
    return value === undefined ? { kind: 'unready' } : { kind: 'value', value };
  } catch {
    // A getter that names a class which has not been defined yet.
    return { kind: 'unready' };
  }
}

function unready(where: string, fix: string) {
  const found = 'undefined: the class was not loaded yet when this one was defined';
  return { code: 'UNDEFINED_REFERENCE', where, found, expected: 'a Step class', fix } as const;
}

function notAClass(where: string, value: unknown, expected: string) {
  return { code: 'NOT_A_STEP', where, found: show(value), expected, fix: 'Name classes marked @Step.' } as const;
}
