import { decorate, injectable, type Newable } from 'inversify';
import { readConstructor } from '../metadata';
import type { Class } from '../ports';

const injectableFlag = '@inversifyjs/core/classIsInjectableFlagReflectKey';
const classMetadataKey = '@inversifyjs/core/classMetadataReflectKey';
const designTypesKey = 'design:paramtypes';

interface ClassMetadata {
  readonly constructorArguments: unknown[];
}

/**
 * Gives inversify what it has to know of a class that the user did not mark `@injectable()`. Inversify reads only what a
 * class has of its own, so a class without a constructor gets the parameters of the one it inherits: without that, all of
 * them would silently be undefined.
 */
export function adoptClass(type: Class): void {
  if (Reflect.hasOwnMetadata(injectableFlag, type)) return;
  const { owner, parameters } = readConstructor(type, undefined);
  const types: unknown = Reflect.getOwnMetadata(designTypesKey, owner);
  if (types && owner !== type) Reflect.defineMetadata(designTypesKey, types, type);
  decorate(injectable(), type as unknown as Newable);
  if (owner === type) return;
  const base: ClassMetadata | undefined = Reflect.getOwnMetadata(classMetadataKey, owner);
  const own: ClassMetadata | undefined = Reflect.getOwnMetadata(classMetadataKey, type);
  // What the user said with @inject, @named or @optional on the inherited constructor.
  for (const { index, source } of parameters) {
    if (source === 'inversify' && base && own) own.constructorArguments[index] = base.constructorArguments[index];
  }
}
