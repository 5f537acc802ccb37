import type { FlowPlan } from '../plan/plan';
import type { FlowDraft } from './collect';
import type { Report } from './finding';

/** Rules of one Flow that are no matter of a single option. */
export function checkFlow(_flow: FlowDraft, _report: Report): void {}

/** Rules between the Flows of a registry. */
export function checkRegistry(
  _flows: readonly { draft: FlowDraft; lowered: Omit<FlowPlan, 'fingerprint'> }[],
  _report: Report,
): void {}
