import type { Injecting } from '../authoring';
import { losesInheritedParameters, type ParameterRecord } from '../metadata';
import type { Class } from '../ports';
import type { Uses } from './collect';
import { type Report, show } from './finding';

interface Recorded {
  readonly options: Injecting;
  readonly designTypes: readonly unknown[] | undefined;
}

const builtins: readonly unknown[] = [
  Number,
  String,
  Boolean,
  BigInt,
  Symbol,
  Array,
  Map,
  Set,
  WeakMap,
  WeakSet,
  Promise,
  Date,
  RegExp,
  Error,
  Uint8Array,
];

/** The constructor is the declaration, so every parameter has to be something that a container can give. */
export function checkConstructor(type: Class, mark: string, uses: Uses, record: Recorded, report: Report): void {
  const { constructed } = uses;
  const { inject } = record.options ?? {};
  const owner = constructed.owner === type ? '' : `, inherited from ${constructed.owner.name}`;
  const where = `${type.name} constructor`;
  if (!constructed.known) report({ code: 'NO_DESIGN_TYPES', where, ...untyped(type, mark, constructed.owner) });
  if (inject !== undefined) checkInject(type, mark, inject, record.designTypes, report);
  for (const parameter of constructed.parameters) {
    // Too short a list is reported once, by checkInject.
    const problem = parameter.source === 'none' && inject !== undefined ? undefined : problemOf(parameter, mark);
    const at = `${where}, parameter ${parameter.index + 1}${owner}`;
    if (problem) report({ code: 'UNKNOWN_PARAMETER', where: at, ...problem });
  }
  checkTwice(where, uses, report);
  checkLockMarks(where, uses, report);
  if (constructed.owner !== type && constructed.parameters.length > 0 && losesInheritedParameters(type)) {
    report({
      code: 'INHERITED_CONSTRUCTOR',
      where: type.name,
      found: `@injectable() on a class that inherits the constructor of ${constructed.owner.name}: inversify would give it undefined for everything`,
      expected: 'a constructor of its own, or parameters taken over from the base',
      fix: 'Remove @injectable(), which is not needed here, or add @injectFromBase().',
    });
  }
}

/** Types are emitted for decorated classes only, so a base without a decorator has none whatever the build tool. */
function untyped(type: Class, mark: string, owner: Class) {
  const count = owner.length === 1 ? '1 parameter' : `${owner.length} parameters`;
  const expected = 'design types, or a list of what to inject';
  const list = `Add the list, ${mark}({ inject: [Balance, …] })`;
  if (owner === type) {
    const found = `${count}, and nothing that says of which type: this build tool emits no design types`;
    return { found, expected, fix: `${list}, or build with emitDecoratorMetadata (tsc, ts-node, swc).` };
  }
  const found = `${count}, inherited from ${owner.name}, of which nothing says the type: types are emitted for decorated classes only, and not by every build tool`;
  return { found, expected, fix: `${list}, or give ${type.name} a constructor of its own.` };
}

type Problem = { readonly found: string; readonly expected: string; readonly fix: string } | undefined;

/** What the build tool writes for a parameter cannot be told apart by its cause: all that fit are named, likeliest first. */
function problemOf({ index, type, source }: ParameterRecord, mark: string): Problem {
  const expected = 'a class, or a token of your container';
  const inject = `${mark}({ inject: […] })`;
  if (source === 'inject') {
    if (typeof type === 'function' || typeof type === 'string' || typeof type === 'symbol') return undefined;
    const fix = 'If two files import each other, move what both need into a third.';
    const why = type === undefined ? ': the class was not loaded yet when this one was defined' : '';
    return { found: `${show(type)} in inject[${index}]${why}`, expected, fix };
  }
  if (source === 'none') {
    const fix = `Name every parameter: add @inject to this one, or list all of them in ${inject}.`;
    return { found: 'a parameter without a type', expected, fix };
  }
  if (type === undefined) {
    const fix =
      'Move what both files need into a third, or name the class late: @inject(new LazyServiceIdentifier(() => TheClass)).';
    return {
      found: 'undefined: a circular import, the class was not loaded yet when this one was defined',
      expected,
      fix,
    };
  }
  if (source !== 'design') return undefined;
  if (type === Object) {
    return {
      found:
        'Object: an interface, a type parameter or a union; or, where files are transpiled one by one, a circular import or `import type`',
      expected,
      fix: `Take a class, and import it without \`type\`; or name a token: @inject('clock') or ${inject}.`,
    };
  }
  if (type === Function) {
    const fix = `Import the class without \`type\`; for a function, name a token: @inject('token') or ${inject}.`;
    return { found: 'Function: a class imported with `import type`, or a function type', expected, fix };
  }
  if (builtins.includes(type)) {
    const fix = `Name a token: @inject('token'), or list it in ${inject}.`;
    return { found: `${show(type)}, which no container can make`, expected, fix };
  }
  return undefined;
}

function checkInject(
  type: Class,
  mark: string,
  inject: unknown,
  design: readonly unknown[] | undefined,
  report: Report,
) {
  const where = `${type.name} ${mark} inject`;
  if (!Array.isArray(inject)) {
    const expected = 'a list of classes and tokens';
    report({ code: 'INJECT_MISMATCH', where, found: show(inject), expected, fix: 'Write inject: [Balance, Clock].' });
    return;
  }
  const parameters = design?.length ?? type.length;
  if (inject.length < parameters || (design && inject.length > parameters)) {
    report({
      code: 'INJECT_MISMATCH',
      where,
      found: `${inject.length} in the list, and ${parameters} in the constructor`,
      expected: 'one entry for each parameter',
      fix: 'Make the list the same as the constructor, in its order.',
    });
  }
  inject.forEach((given: unknown, index) => {
    const declared = design?.[index];
    if (typeof given !== 'function' || typeof declared !== 'function') return;
    if (declared === Object || declared === Function || builtins.includes(declared)) return;
    if (given === declared || isSubclass(given, declared)) return;
    report({
      code: 'INJECT_MISMATCH',
      where: `${where}[${index}]`,
      found: `${show(given)}, where the constructor takes ${show(declared)}`,
      expected: `${show(declared)} or a subclass of it`,
      fix: 'Make the list the same as the constructor, in its order; or leave it out, as the build tool emits the types.',
    });
  });
}

function checkTwice(where: string, uses: Uses, report: Report): void {
  const taken = [...uses.attributes.map((use) => use.type), ...uses.channels];
  for (const type of new Set(taken.filter((each, index) => taken.indexOf(each) !== index))) {
    report({
      code: 'DUPLICATE_PARAMETER',
      where,
      found: `${type.name} more than once`,
      expected: 'each Attribute and Channel once',
      fix: 'Keep one of the parameters.',
    });
  }
}

function checkLockMarks(where: string, uses: Uses, report: Report): void {
  const { locks } = uses.constructed;
  for (const index of new Set(locks.map((mark) => mark.index))) {
    const marks = locks.filter((mark) => mark.index === index);
    const at = `${where}, parameter ${index + 1}`;
    if (marks.length > 1) {
      report({
        code: 'DOUBLE_LOCK',
        where: at,
        found: `${marks.length} locks: ${marks.map((mark) => show(mark.mode)).join(', ')}`,
        expected: 'one lock on a parameter',
        fix: 'Keep one of them.',
      });
    }
    if (uses.attributes.some((use) => use.index === index)) continue;
    report({
      code: 'BAD_LOCK',
      where: at,
      found: `a lock on ${show(uses.constructed.parameters[index]?.type)}`,
      expected: 'locks only on parameters that are Attributes (L1)',
      fix: 'Remove the lock.',
    });
  }
}

function isSubclass(type: Function, base: Function): boolean {
  return type.prototype instanceof base;
}
