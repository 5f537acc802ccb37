import type { FlowPlan } from '../plan/plan';
import { checkConstructor } from './check-constructor';
import { named, unmarkedHandler } from './check-marks';
import { checkMembers } from './check-members';
import { checkName, checkUnique } from './check-names';
import { checkAttribute, checkChannel } from './check-state';
import type { FlowDraft, StepDraft } from './collect';
import type { Report } from './finding';

/** A Flow with its plan, as far as one could be made. */
export interface LoweredFlow {
  readonly draft: FlowDraft;
  readonly lowered: Omit<FlowPlan, 'fingerprint'>;
}

/** Rules of one Flow that are no matter of a single option. */
export function checkFlow(flow: FlowDraft, report: Report): void {
  const { type, record, uses } = flow;
  if (!record) {
    report(unmarkedHandler(type, '@Flow', 'NOT_A_FLOW'));
  } else {
    checkName({ ...named('@Flow', flow), record }, report);
    checkConstructor(type, '@Flow', uses, record, report);
  }
  for (const mark of uses.constructed.locks) {
    report({
      code: 'BAD_LOCK',
      where: `${type.name} constructor, parameter ${mark.index + 1}`,
      found: 'a lock on a parameter of a Flow',
      expected: 'locks on the parameters of Steps; an RPC names the ones it takes (L1)',
      fix: 'Move it to the RPCs that need it: @Rpc({ locks: [Balance] }).',
    });
  }
  for (const step of flow.steps) checkStep(step, report);
  for (const attribute of flow.attributes) checkAttribute(attribute, report);
  for (const channel of flow.channels) checkChannel(channel, report);
  checkMembers(flow, report);
  checkUnique(
    type.name,
    'Steps',
    flow.steps.map((each) => named('@Step', each)),
    report,
  );
  checkUnique(
    type.name,
    'Attributes',
    flow.attributes.map((each) => named('@Attribute', each)),
    report,
  );
  checkUnique(
    type.name,
    'Channels',
    flow.channels.map((each) => named('@Channel', each)),
    report,
  );
}

/** Rules between the Flows of a registry. */
export function checkRegistry(flows: readonly LoweredFlow[], report: Report): void {
  checkUnique(
    undefined,
    'Flows',
    flows.map(({ draft }) => named('@Flow', draft)),
    report,
  );
  const indexed = new Map<string, { kind: string; flow: string; type: string }>();
  for (const { draft, lowered } of flows) {
    for (const { type, name } of draft.attributes) {
      const kind = lowered.attributes[name]?.index;
      if (!kind) continue;
      const earlier = indexed.get(name);
      if (earlier && earlier.kind !== kind) {
        report({
          code: 'INDEX_CONFLICT',
          where: `${type.name} @Attribute index`,
          found: `'${kind}' for ${name} in ${draft.type.name}, and '${earlier.kind}' by ${earlier.type} in ${earlier.flow}`,
          expected: 'one kind of index for each Attribute name, as one search goes over all Flows (A4)',
          fix: 'Use the same kind, or give one of them another name.',
        });
      }
      if (!earlier) indexed.set(name, { kind, flow: draft.type.name, type: type.name });
    }
  }
}

function checkStep(step: StepDraft, report: Report): void {
  const { type, record, uses } = step;
  if (!record) {
    report(unmarkedHandler(type, '@Step', 'NOT_A_STEP'));
    return;
  }
  checkName({ ...named('@Step', step), record }, report);
  checkConstructor(type, '@Step', uses, record, report);
  if (typeof type.prototype?.execute === 'function') return;
  report({
    code: 'NO_EXECUTE',
    where: type.name,
    found: 'a Step without a method execute',
    expected: 'execute(input, ctx), which returns a Decision (S1)',
    fix: 'Add the method; as a method and not as a property, which exists only in instances.',
  });
}
