import type { AnyStep, MovementOptions, StepOptions } from '../authoring';
import { defaultMethod, type MethodPlan, type StepPlan } from '../plan/plan';
import type { Class } from '../ports';
import type { StepDraft } from './collect';
import { type Report, show } from './finding';
import { type FindLockable, lowerConstructorLocks, lowerLockRequests } from './lower-locks';
import { lowerMethod, methodOptionNames } from './lower-method';
import { OptionReader } from './read-options';

export const movementOptionNames = [
  ...methodOptionNames,
  'onFailure',
  'onWaitForFailure',
  'locks',
  'waitFor',
  'execute',
] as const;

const stepOptionNames = [...movementOptionNames, 'name', 'aliases', 'inject'] as const;

/** Names as the Flow knows them. */
export interface FlowNames {
  stepName(type: Class): string | undefined;
  attribute: FindLockable;
  attributeName(type: Class): string | undefined;
  channelName(type: Class): string | undefined;
}

export function lowerStep(step: StepDraft, names: FlowNames, report: Report): StepPlan {
  const read = new OptionReader(`${step.type.name} @Step`, report);
  const options: Partial<StepOptions> = read.object(step.record?.options, stepOptionNames);
  const parameters = new OptionReader(`${step.type.name} constructor`, report);
  const ofConstructor = lowerConstructorLocks(step.uses.attributes, names.attribute, parameters);
  return {
    name: step.name,
    aliases: Array.isArray(options.aliases) ? [...options.aliases] : [],
    hasWaitFor: typeof step.type.prototype?.waitFor === 'function',
    attributes: defined(step.uses.attributes.map((use) => names.attributeName(use.type))),
    channels: defined(step.uses.channels.map((type) => names.channelName(type))),
    ...lowerMethods(options, { waitFor: defaultMethod, execute: defaultMethod }, read),
    locks: lowerLockRequests(options.locks, ofConstructor, names.attribute, read.in('locks')),
    onFailure: lowerRecovery(options.onFailure, names, read) ?? null,
    onWaitForFailure: lowerWaitForFailure(options.onWaitForFailure, read) ?? 'fail',
  };
}

/** Settings for both methods, then those for one. */
export function lowerMethods<M extends Partial<MethodPlan>>(
  options: MovementOptions,
  base: Record<'waitFor' | 'execute', M>,
  read: OptionReader,
): Record<'waitFor' | 'execute', M> {
  const one = (method: 'waitFor' | 'execute') => {
    const common = lowerMethod(options, base[method], read);
    const own = read.in(method).object(options[method], methodOptionNames);
    return lowerMethod(own, common, read.in(method)) as M;
  };
  return { waitFor: one('waitFor'), execute: one('execute') };
}

/** undefined when nothing was said, null for none. */
export function lowerRecovery(
  onFailure: (() => AnyStep) | null | undefined,
  names: Pick<FlowNames, 'stepName'>,
  read: OptionReader,
): string | null | undefined {
  if (onFailure === undefined || onFailure === null) return onFailure;
  const where = `${read.where} onFailure`;
  const fix = 'Write onFailure: () => RefundStep, and list that Step in the static steps of the Flow.';
  const isLazy = typeof onFailure === 'function' && onFailure.prototype?.execute === undefined;
  const target: unknown = isLazy ? attempt(onFailure) : onFailure;
  if (!isLazy || typeof target !== 'function') {
    const found = isLazy ? `a function that gives ${show(target)}` : `${show(onFailure)} itself`;
    read.report({ code: 'UNDEFINED_REFERENCE', where, found, expected: 'a function that gives a Step class', fix });
    return undefined;
  }
  const name = names.stepName(target as unknown as Class);
  if (name === undefined) {
    const found = `${show(target)}, which this Flow does not list`;
    read.report({ code: 'UNKNOWN_STEP', where, found, expected: 'a Step of the same Flow', fix });
  }
  return name;
}

export function lowerWaitForFailure(value: unknown, read: OptionReader): 'fail' | 'proceed' | undefined {
  return value === undefined ? undefined : read.oneOf('onWaitForFailure', value, ['fail', 'proceed'], 'fail');
}

/** A class that is still in its temporal dead zone throws. */
function attempt(onFailure: () => unknown): unknown {
  try {
    return onFailure();
  } catch (error) {
    return error;
  }
}

function defined<T>(list: readonly (T | undefined)[]): T[] {
  return [...new Set(list.filter((each): each is T => each !== undefined))];
}
