import 'reflect-metadata';
import type { Class } from '../ports';

/** One kind of record, kept for the class itself and never found through its subclasses (C66). */
export interface OwnMetadata<T> {
  read(type: Class): T | undefined;
  write(type: Class, record: T): void;
}

/** Kept by Reflect under a global symbol, so that two copies of the library in one process read each other's records. */
export function ownMetadata<T>(name: string): OwnMetadata<T> {
  const key = Symbol.for(`holdfast.${name}`);
  return {
    read: (type) => Reflect.getOwnMetadata(key, type),
    write: (type, record) => Reflect.defineMetadata(key, record, type),
  };
}

/** The class and its ancestors, nearest first. */
export function lineage(type: Class): Class[] {
  const classes: Class[] = [];
  let next: unknown = type;
  while (typeof next === 'function' && next !== Function.prototype) {
    classes.push(next as Class);
    next = Object.getPrototypeOf(next);
  }
  return classes;
}
