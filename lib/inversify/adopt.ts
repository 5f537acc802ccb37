import { decorate, injectable, injectFromHierarchy, type Newable } from 'inversify';
import { readConstructor } from '../metadata';
import type { Class } from '../ports';

const injectableFlag = '@inversifyjs/core/classIsInjectableFlagReflectKey';
const classMetadataKey = '@inversifyjs/core/classMetadataReflectKey';
const designTypesKey = 'design:paramtypes';

/**
 * Gives inversify what it has to know of a class that the user did not mark `@injectable()`. Inversify reads only what a
 * class has of its own, so a class without a constructor gets the parameters of the one it inherits: without that, all of
 * them would silently be undefined.
 */
export function adoptClass(type: Class): void {
  if (Reflect.hasOwnMetadata(injectableFlag, type)) return;
  const { owner } = readConstructor(type, undefined);
  const inherited = owner !== type;
  const annotated = inherited && Reflect.hasOwnMetadata(classMetadataKey, owner);
  if (inherited && !annotated) {
    const types: unknown = Reflect.getOwnMetadata(designTypesKey, owner);
    if (types) Reflect.defineMetadata(designTypesKey, types, type);
  }
  decorate(injectable(), type as unknown as Newable);
  if (annotated) decorate(injectFromHierarchy({ extendConstructorArguments: true }) as ClassDecorator, type as never);
}
