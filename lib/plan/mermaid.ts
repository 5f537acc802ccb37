import type { FlowPlan } from './plan';

/**
 * A Mermaid flowchart of a Flow's Steps: where it starts, which Steps wait, and the recovery routes. Movements are decided
 * by the Steps' code, so a plan does not know them; `movements` adds those which the caller knows, e.g. from a history.
 */
export function toMermaid(plan: FlowPlan, movements: readonly (readonly [from: string, to: string])[] = []): string {
  const names = Object.keys(plan.steps);
  const id = (step: string) => `s${names.indexOf(step)}`;
  const known = movements.filter(([from, to]) => from in plan.steps && to in plan.steps);
  const lines = [
    'flowchart TD',
    ...names.map(
      (name) => `  ${id(name)}${plan.steps[name].hasWaitFor ? `{{"${label(name)}"}}` : `["${label(name)}"]`}`,
    ),
    ...(plan.start === null ? [] : [`  start(("start")) --> ${id(plan.start)}`]),
    ...known.map(([from, to]) => `  ${id(from)} --> ${id(to)}`),
    ...names.flatMap((name) => {
      const recovery = plan.steps[name].onFailure;
      return recovery === null ? [] : [`  ${id(name)} -. "on failure" .-> ${id(recovery)}`];
    }),
  ];
  return `${lines.join('\n')}\n`;
}

function label(name: string): string {
  return name.replace(/[#"<>&]/g, (each) => `#${each.charCodeAt(0)};`);
}
