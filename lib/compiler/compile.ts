import type { FlowClass } from '../authoring';
import type { FlowPlan } from '../plan/plan';
import type { Class } from '../ports';
import { bindFlow } from './bind-flow';
import { checkFlow, checkRegistry } from './check';
import { collectFlow, type FlowDraft } from './collect';
import { CompileError } from './compile-error';
import type { Compiled, CompiledFlow } from './compiled';
import { type Finding, show } from './finding';
import { lowerFlow } from './lower-flow';

/** Everything that is wrong with these Flow classes and all they lead to; empty when they compile. Never throws. */
export function check(flows: readonly (FlowClass | Class)[]): readonly Finding[] {
  return examine(flows).findings;
}

/**
 * Makes frozen plans of Flow classes and all that they lead to. Throws `CompileError` (`COMPILE_FAILED`) with every finding.
 */
export function compile(flows: readonly (FlowClass | Class)[]): Compiled {
  const { findings, drafts } = examine(flows);
  if (findings.length > 0) throw new CompileError(findings);
  const bound = drafts.map(({ draft, lowered }) => bindFlow(draft, lowered));
  const byType = new Map(bound.map((flow) => [flow.type, flow]));
  const byAlias = new Map(bound.flatMap((flow) => flow.plan.aliases.map((alias) => [alias, flow] as const)));
  const byName: ReadonlyMap<string, CompiledFlow> = new Map(bound.map((flow) => [flow.plan.name, flow]));
  return Object.freeze({
    flows: byName,
    classes: Object.freeze([...new Set(drafts.flatMap(({ draft }) => classesOf(draft)))]),
    flowOf: (type: Class) => byType.get(type),
    flowNamed: (name: string) => byName.get(name) ?? byAlias.get(name),
  });
}

interface Examined {
  readonly findings: readonly Finding[];
  readonly drafts: readonly { draft: FlowDraft; lowered: Omit<FlowPlan, 'fingerprint'> }[];
}

function examine(flows: readonly unknown[]): Examined {
  // Flows share Steps, Attributes and Channels: what is wrong with one of those is reported once.
  const findings = new Map<string, Finding>();
  const report = (finding: Finding) => {
    findings.set(`${finding.code} ${finding.where} ${finding.found}`, finding);
  };
  const drafts = [...new Set(flows)].flatMap((type, index) => {
    if (typeof type !== 'function') {
      report({
        code: 'NOT_A_FLOW',
        where: `flows[${index}]`,
        found: type === undefined ? 'undefined: the class was not loaded yet' : show(type),
        expected: 'a class marked @Flow',
        fix:
          type === undefined ? 'If two files import each other, move what both need into a third.' : 'Give the class.',
      });
      return [];
    }
    const draft = collectFlow(type as unknown as Class, report);
    checkFlow(draft, report);
    return [{ draft, lowered: lowerFlow(draft, report) }];
  });
  checkRegistry(drafts, report);
  return { findings: Object.freeze([...findings.values()]), drafts };
}

function classesOf(draft: FlowDraft): Class[] {
  return [
    draft.type,
    ...draft.steps.map((step) => step.type),
    ...draft.attributes.map((attribute) => attribute.type),
    ...draft.channels.map((channel) => channel.type),
  ];
}
