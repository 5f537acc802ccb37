import type { Class } from '../ports';
import { type LockMark, readLocks } from './constructor-locks';
import { lineage } from './own-metadata';

/** Where the type of a constructor parameter was found. */
export type ParameterSource = 'inject' | 'inversify' | 'nest' | 'design' | 'none';

export interface ParameterRecord {
  readonly index: number;
  /** A class, a token of the container's, or what the build tool wrote in its place. */
  readonly type: unknown;
  readonly source: ParameterSource;
}

export interface ConstructorRecord {
  /** The class whose constructor is meant: the type itself, or the nearest ancestor that has one. */
  readonly owner: Class;
  readonly parameters: readonly ParameterRecord[];
  readonly locks: readonly LockMark[];
  /** Whether anything says what the parameters are; without, a build tool emitted no design types. */
  readonly known: boolean;
}

const designTypesKey = 'design:paramtypes';
const inversifyKey = '@inversifyjs/core/classMetadataReflectKey';
const inversifyFlag = '@inversifyjs/core/classIsInjectableFlagReflectKey';
const nestKey = 'self:paramtypes';

interface InversifyArgument {
  readonly kind: number;
  readonly value: unknown;
  readonly isFromTypescriptParamType?: boolean;
}

/**
 * What is known about a class's constructor. Per parameter: the `inject` option or the build tool's design types, unless the
 * user said otherwise with inversify's `@inject` or Nest's `@Inject`.
 */
export function readConstructor(type: Class, inject: readonly unknown[] | undefined): ConstructorRecord {
  const owner = inject ? type : constructorOwner(type);
  const design: readonly unknown[] | undefined = Reflect.getOwnMetadata(designTypesKey, owner);
  const inversify = inversifyArguments(owner);
  const nest = nestArguments(owner);
  const known = design !== undefined || inversify.size > 0 || nest.size > 0;
  const highest = Math.max(
    owner.length,
    design?.length ?? 0,
    ...[...inversify.keys(), ...nest.keys()].map((i) => i + 1),
  );
  const parameters: ParameterRecord[] = [];
  for (let index = 0; index < (known ? highest : 0); index++) parameters.push(parameterAt(index));
  return { owner, parameters, locks: readLocks(owner), known: known || owner.length === 0 };

  function parameterAt(index: number): ParameterRecord {
    if (inject) return { index, type: inject[index], source: index < inject.length ? 'inject' : 'none' };
    if (inversify.has(index)) return { index, type: inversify.get(index), source: 'inversify' };
    if (nest.has(index)) return { index, type: nest.get(index), source: 'nest' };
    if (design && index < design.length) return { index, type: design[index], source: 'design' };
    return { index, type: undefined, source: 'none' };
  }
}

/**
 * Whether inversify would give a class `undefined` for everything its inherited constructor takes: the user marked it
 * `@injectable()`, it has no constructor of its own, and nothing copied its base's parameters.
 */
export function losesInheritedParameters(type: Class): boolean {
  if (Reflect.getOwnMetadata(inversifyFlag, type) !== true) return false;
  const own: { constructorArguments?: readonly unknown[] } | undefined = Reflect.getOwnMetadata(inversifyKey, type);
  return (own?.constructorArguments?.length ?? 0) === 0;
}

/** A class without own design types and without parameters has no constructor of its own, as far as can be seen. */
function constructorOwner(type: Class): Class {
  const owner = lineage(type).find(
    (each) => Reflect.hasOwnMetadata(designTypesKey, each) || each.length > 0 || inversifyArguments(each).size > 0,
  );
  return owner ?? type;
}

function inversifyArguments(type: Class): Map<number, unknown> {
  const own: { constructorArguments?: readonly InversifyArgument[] } | undefined = Reflect.getOwnMetadata(
    inversifyKey,
    type,
  );
  const found = new Map<number, unknown>();
  own?.constructorArguments?.forEach((argument, index) => {
    if (argument && argument.isFromTypescriptParamType !== true) found.set(index, unwrapLazy(argument.value));
  });
  return found;
}

function nestArguments(type: Class): Map<number, unknown> {
  const own: readonly { index: number; param: unknown }[] = Reflect.getOwnMetadata(nestKey, type) ?? [];
  return new Map(own.map(({ index, param }) => [index, forwarded(param)]));
}

/** inversify's `LazyServiceIdentifier`: its cure for circular imports. */
function unwrapLazy(value: unknown): unknown {
  const lazy = value as { unwrap?: () => unknown } | null;
  return typeof value === 'object' && typeof lazy?.unwrap === 'function' ? lazy.unwrap() : value;
}

/** Nest's `forwardRef`. */
function forwarded(param: unknown): unknown {
  const reference = param as { forwardRef?: () => unknown } | null;
  return typeof param === 'object' && typeof reference?.forwardRef === 'function' ? reference.forwardRef() : param;
}
