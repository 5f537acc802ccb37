import type { CallTask, Task } from '../../../core';
import type { Class, HandlerResolver, Resolved } from '../../../ports';
import type { SimProcess } from '../sim-process';
import type { Journal } from './journal';
import { Probe } from './probe';
import type { Programs } from './program';

/** Makes a handler for each attempt, with a probe that knows which attempt it is. */
export class SimResolver implements HandlerResolver {
  /** The task that is being handed to the worker right now. */
  task: Task | CallTask | undefined;
  private readonly singletons = new Map<Class, unknown>();

  constructor(
    private readonly process: SimProcess,
    private readonly journal: Journal,
    private readonly programs: Programs,
  ) {}

  adopt(): void {}

  resolve<T>(type: Class<T>): Resolved<T> {
    const { task } = this;
    if (!task) throw new Error(`${type.name} was asked for while no task was being handed out.`);
    const parameters: Class[] = Reflect.getMetadata('design:paramtypes', type) ?? [];
    const probe = new Probe(this.process, this.journal, this.programs, task);
    const made = parameters.map((parameter) => (parameter === (Probe as Class) ? probe : this.singleton(parameter)));
    return { handler: new (type as unknown as new (...args: unknown[]) => T)(...made) };
  }

  private singleton(type: Class): unknown {
    if (!this.singletons.has(type)) this.singletons.set(type, new (type as unknown as new () => unknown)());
    return this.singletons.get(type);
  }
}
