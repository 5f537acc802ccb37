export type Class<T = unknown> = abstract new (...args: never[]) => T;

/** Makes the users' Step and Flow objects: the seam to their DI container. */
export interface HandlerResolver {
  /** Called once with every class before the first resolve, so that a container can bind what it does not know. */
  adopt(classes: readonly Class[]): void;
  /**
   * The object for a call, and what to do when the call has ended. A singleton comes back each time; where the container
   * says that something it takes is not one, each call gets its own scope, which `release` ends.
   */
  resolve<T>(type: Class<T>): Resolved<T> | Promise<Resolved<T>>;
}

export interface Resolved<T> {
  readonly handler: T;
  release?(): void | Promise<void>;
}
