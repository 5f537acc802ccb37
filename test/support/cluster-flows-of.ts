import type { FlowClass } from '../../index';
import { clusterFlows } from './cluster-flows';

/** The Flows that a module exports as `clusterFlows`; without one, those of most tests. */
export function flowsOf(module: string | undefined): readonly FlowClass[] {
  return module === undefined ? clusterFlows : require(module).clusterFlows;
}
