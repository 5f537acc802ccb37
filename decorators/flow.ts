import type { FlowClass, FlowOptions, Problem, Token, UnlistedSteps } from '../lib/authoring';
import { recordFlow } from '../lib/metadata';
import type { Resolved } from './inject';

/** Named in the error when a Step goes to a Step which the Flow does not list. */
interface Unlisted<S> extends Problem<'a Step goes to this Step, and static steps does not list it'> {
  readonly step: S;
}

type AllListed<F> = [UnlistedSteps<F>] extends [never] ? unknown : { readonly steps: Unlisted<UnlistedSteps<F>> };

/**
 * Marks a class as a Flow (F1). `static readonly start` is its start Step and `static readonly steps` lists the others;
 * methods marked `@Rpc` and `@Query` are what clients call, helpers are protected. The name [class name] is stored: give one
 * where code is minified. Does not compile when a listed Step goes to one that is not listed.
 */
export function Flow<const D extends readonly Token[] = any[]>(options: FlowOptions<D> = {}) {
  return <C extends FlowClass & (new (...deps: Resolved<D>) => object)>(target: C & AllListed<C>): void =>
    recordFlow(target, options);
}
