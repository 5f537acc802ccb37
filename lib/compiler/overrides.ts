import type { MovementOptions } from '../authoring';
import { HoldfastError } from '../errors';
import type { MethodPlan, StepOverrides } from '../plan/plan';
import type { CompiledFlow } from './compiled';
import type { Finding } from './finding';
import { lowerLockRequests } from './lower-locks';
import { lowerMethods, lowerRecovery, lowerWaitForFailure, movementOptionNames } from './lower-step';
import { OptionReader } from './read-options';

/**
 * What a movement's options replace of its Step's plan, field by field (S9); a retry policy and the locks are merged with
 * those of the Step named `step`. Throws `INVALID_DURATION` or `DEFINITION`, naming `where` and the option.
 */
export function lowerOverrides(
  options: MovementOptions,
  flow: CompiledFlow,
  where: string,
  step?: string,
): StepOverrides {
  const read = new OptionReader(where, refuse);
  const given = read.object(options, movementOptionNames);
  const base = step === undefined ? undefined : flow.plan.steps[step];
  const methods = lowerMethods<Partial<MethodPlan>>(
    given,
    { waitFor: base ? { retry: base.waitFor.retry } : {}, execute: base ? { retry: base.execute.retry } : {} },
    read,
  );
  const onFailure = lowerRecovery(given.onFailure, flow, read);
  const onWaitForFailure = lowerWaitForFailure(given.onWaitForFailure, read);
  const locks =
    given.locks === undefined
      ? undefined
      : lowerLockRequests(given.locks, base?.locks ?? [], (type) => flow.attributeOf(type)?.plan, read.in('locks'));
  return {
    ...whenGiven('waitFor', changed(methods.waitFor, given, 'waitFor')),
    ...whenGiven('execute', changed(methods.execute, given, 'execute')),
    ...(locks === undefined ? {} : { locks }),
    ...(onFailure === undefined ? {} : { onFailure }),
    ...(onWaitForFailure === undefined ? {} : { onWaitForFailure }),
  };
}

/** Without the retry policy where no option changes it. */
function changed(plan: Partial<MethodPlan>, given: MovementOptions, method: 'waitFor' | 'execute') {
  if (given.retry !== undefined || given[method]?.retry !== undefined) return plan;
  const { retry: _, ...rest } = plan;
  return rest;
}

function whenGiven(method: 'waitFor' | 'execute', plan: Partial<MethodPlan>): StepOverrides {
  return Object.keys(plan).length === 0 ? {} : { [method]: plan };
}

function refuse(finding: Finding): never {
  const { code, where, found, expected, fix } = finding;
  const message = `${where}: found ${found}, expected ${expected}.`;
  throw new HoldfastError(code === 'BAD_DURATION' ? 'INVALID_DURATION' : 'DEFINITION', message, { where, fix });
}
