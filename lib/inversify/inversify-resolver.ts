import { Container, type ServiceIdentifier } from 'inversify';
import { attributeKindOf, channelKindOf } from '../authoring';
import type { Class, HandlerResolver, Resolved } from '../ports';
import { adoptClass } from './adopt';
import { ContainerView } from './container-view';

/**
 * Makes Step and Flow objects by an inversify container: the user's, or one of its own that binds classes by itself, as
 * singletons. Handlers are singletons too, unless the container says that something they take is not: then each call gets
 * its own (C69). What the user bound stays as it is.
 */
export class InversifyResolver implements HandlerResolver {
  readonly container: Container;
  private readonly view: ContainerView;
  private readonly ours = new Set<Class>();
  private readonly single = new Map<Class, Resolved<unknown>>();
  private readonly scoped = new Set<Class>();
  private readonly first = new Map<Class, Promise<Resolved<unknown>>>();

  constructor(container: Container = new Container({ autobind: true, defaultScope: 'Singleton' })) {
    this.container = container;
    this.view = new ContainerView(container);
  }

  adopt(classes: readonly Class[]): void {
    const bound = this.view.boundServices();
    for (const type of classes) {
      if (bound.has(type)) continue;
      adoptClass(type);
      const binding = this.container.bind(type).toSelf();
      if (attributeKindOf(type) !== undefined || channelKindOf(type) !== undefined) {
        binding.inSingletonScope();
      } else {
        // Whether a handler may be kept is known only from the container's plan for it, so keeping it is done here.
        binding.inTransientScope();
        this.ours.add(type);
      }
    }
  }

  resolve<T>(type: Class<T>): Resolved<T> | Promise<Resolved<T>> {
    const kept = this.single.get(type);
    if (kept) return kept as Resolved<T>;
    if (this.scoped.has(type)) return this.make(type);
    const first = this.first.get(type);
    // Calls that come while the first is being made wait to learn whether they share it.
    if (first) return first.then(() => this.resolve(type));
    const making = this.makeFirst(type).finally(() => this.first.delete(type));
    this.first.set(type, making);
    return making;
  }

  private async makeFirst<T>(type: Class<T>): Promise<Resolved<T>> {
    const resolved = await this.make(type);
    if (this.view.takesOnlySingletons(type, !this.ours.has(type))) this.single.set(type, resolved);
    else this.scoped.add(type);
    return resolved;
  }

  private async make<T>(type: Class<T>): Promise<Resolved<T>> {
    const handler = (await this.container.getAsync(type as ServiceIdentifier)) as T;
    return { handler };
  }
}
