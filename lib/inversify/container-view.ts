import type { Container } from 'inversify';
import type { Class } from '../ports';

/** The parts of inversify's plans that matter here. */
interface PlanNode {
  readonly bindings?: BindingNode | readonly BindingNode[];
}

interface BindingNode {
  readonly binding: { readonly scope?: 'Singleton' | 'Transient' | 'Request' };
  readonly constructorParams?: readonly PlanNode[];
  readonly propertyParams?: ReadonlyMap<string | symbol, PlanNode>;
  readonly params?: readonly PlanNode[];
  readonly redirection?: PlanNode;
}

/** What inversify hands to a plugin. */
interface PluginContext {
  readonly bindingService: { getBoundServices(): Iterable<unknown> };
  readonly planResultCacheService: { get(options: object): { readonly tree: { readonly root: PlanNode } } | undefined };
}

/** Inversify's way to know a plugin; by its global symbol, so that no package of its own is needed. */
const isPlugin = Symbol.for('@inversifyjs/plugin/isPlugin');

/** Reads what a container knows and does not tell by its own methods. */
export class ContainerView {
  private context: PluginContext | undefined;

  constructor(container: Container) {
    const take = (context: PluginContext) => {
      this.context = context;
    };
    class ContextReader {
      readonly [isPlugin] = true;

      constructor(_container: Container, context: PluginContext) {
        take(context);
      }

      load(): void {}
    }
    container.register(ContextReader as never);
  }

  /** What is bound, here or in a parent. `isBound` would bind a class first where the container binds by itself. */
  boundServices(): ReadonlySet<unknown> {
    return new Set(this.context?.bindingService.getBoundServices());
  }

  /**
   * Whether all that a class takes is singletons, at any depth; to be asked after the container resolved it once. What
   * cannot be found out counts as no: a scope of its own for each call is always right.
   */
  takesOnlySingletons(type: Class, ownScopeCounts: boolean): boolean {
    const options = { isMultiple: false, name: undefined, optional: false, serviceIdentifier: type, tag: undefined };
    const root = this.context?.planResultCacheService.get(options)?.tree.root;
    if (!root?.bindings) return false;
    return bindingsOf(root).every((node) =>
      ownScopeCounts ? isSingle(node) : partsOf(node).every((part) => bindingsOf(part).every(isSingle)),
    );
  }
}

/** A singleton's parts are made once, whatever their scope. A redirection has none of its own. */
function isSingle(node: BindingNode): boolean {
  if (node.redirection) return bindingsOf(node.redirection).every(isSingle);
  return node.binding.scope === 'Singleton';
}

function partsOf(node: BindingNode): readonly PlanNode[] {
  const { constructorParams = [], propertyParams, params = [], redirection } = node;
  const parts = [...constructorParams, ...(propertyParams?.values() ?? []), ...params];
  return redirection ? [...parts, redirection] : parts;
}

function bindingsOf(node: PlanNode | undefined): readonly BindingNode[] {
  const bindings = node?.bindings;
  if (bindings === undefined) return [];
  return Array.isArray(bindings) ? bindings : [bindings as BindingNode];
}
