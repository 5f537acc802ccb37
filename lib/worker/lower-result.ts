import {
  type CompleteIfEmpty,
  type Condition,
  type ContinueAsNew,
  Decision,
  type ForceComplete,
  type ForceFail,
  type GoTo,
  type GracefulComplete,
  isDecision,
  isWait,
  type Movement,
} from '../authoring';
import { type CompiledFlow, lowerOverrides } from '../compiler';
import {
  addressOf,
  type ConditionRequest,
  type ContinueRequest,
  type DecisionKind,
  type DecisionRequest,
  type MovementRequest,
  type Task,
  type Waited,
} from '../core';
import { HoldfastError } from '../errors';
import type { Class } from '../ports';
import { encode, toFailure } from '../values';
import type { ChildRequests } from './child-requests';

/** What `waitFor` returned, by names. Throws `DEFINITION` for anything that is not a Wait (S8). */
export function lowerWait(
  returned: unknown,
  task: Task,
  flow: CompiledFlow,
  children: ChildRequests,
): Omit<Waited, 'staged'> {
  if (!isWait(returned)) {
    throw wrongReturn(task, 'waitFor', returned, 'a Wait: until(…), anyOf(…), allOf(…) or anyCombinationOf(…)');
  }
  return {
    kind: 'waited',
    conditions: returned.conditions.map((condition, i) => lowerCondition(condition, i, task, flow, children)),
    candidates: returned.candidates,
  };
}

function lowerCondition(
  condition: Condition,
  index: number,
  task: Task,
  flow: CompiledFlow,
  children: ChildRequests,
): ConditionRequest {
  const id = condition.id ?? null;
  if (condition.kind === 'timer') {
    return 'afterMs' in condition
      ? { kind: 'timer', id, afterMs: condition.afterMs }
      : { kind: 'timer', id, atMs: condition.atMs };
  }
  if (condition.kind === 'subFlow') {
    const { flow: type, input, options, cancelWithWait } = condition;
    return { kind: 'subFlow', id, child: children.ofCondition(index, type, input, options), cancelWithWait };
  }
  const { key, min, max } = condition;
  return { kind: 'channel', id, address: addressOf(channelName(condition.type, task, flow), key), min, max };
}

/** What `execute` returned, by names and encoded. Throws `DEFINITION` for anything that is not a Decision (S8). */
export function lowerDecision(returned: unknown, task: Task, flow: CompiledFlow): DecisionRequest {
  if (!isDecision(returned)) {
    throw wrongReturn(task, 'execute', returned, 'a Decision: goTo(…), gracefulComplete(…), deadEnd() and the like');
  }
  const { cancels } = returned;
  return {
    ...lowerKind(returned, task, flow),
    ...(cancels && {
      cancels: {
        steps: cancels.steps.map((step) => stepName(step, task.step, flow)),
        siblingsOnly: cancels.siblingsOnly,
      },
    }),
  };
}

function lowerKind(decision: Decision, task: Task, flow: CompiledFlow): DecisionRequest {
  const kind = decision.kind as DecisionKind;
  switch (kind) {
    case 'goTo':
      return {
        kind,
        movements: (decision as GoTo).movements.map((movement) => lowerMovement(movement, task.step, flow)),
      };
    case 'gracefulComplete':
    case 'forceComplete': {
      const { hasOutput, output } = decision as GracefulComplete | ForceComplete;
      return { kind, movements: [], ...(hasOutput && { output: encode(output, 'output') }) };
    }
    case 'forceFail': {
      const { reason } = decision as ForceFail;
      const failure = reason instanceof Error ? toFailure(reason) : { name: 'ForceFail', message: String(reason) };
      return { kind, movements: [], failure };
    }
    case 'completeIfEmpty': {
      const { channels, hasOutput, output, otherwise } = decision as CompleteIfEmpty;
      return {
        kind,
        movements: [lowerMovement(otherwise, task.step, flow)],
        channels: channels.map((type) => channelName(type, task, flow)),
        ...(hasOutput && { output: encode(output, 'output') }),
      };
    }
    case 'continueAsNew':
      return { kind, movements: [], next: lowerNext(decision as ContinueAsNew, task, flow) };
    case 'deadEnd':
      return { kind, movements: [] };
  }
}

function lowerNext({ flow: type, input, carry }: ContinueAsNew, task: Task, flow: CompiledFlow): ContinueRequest {
  if (type !== flow.type) {
    throw new HoldfastError('DEFINITION', `${task.step} continues as ${type?.name}, and runs in ${flow.type.name}.`, {
      where: task.step,
      fix: `Continue as ${flow.type.name}, or start the other Flow as a new one.`,
    });
  }
  const keep = carry.attributes?.map((attribute) => {
    const binding = flow.attributeOf(attribute as unknown as Class);
    if (!binding) throw notOfFlow(task.step, flow, 'Attribute', attribute as unknown as Class);
    return binding.name;
  });
  return {
    input: input === undefined ? null : encode(input, `input of ${flow.plan.name}`),
    keep: keep ?? null,
  };
}

/** A movement by names; `who` is the Step or RPC that asks for it. Throws `DEFINITION`, `VALUE_NOT_STORABLE` and the like. */
export function lowerMovement({ step, input, options }: Movement, who: string, flow: CompiledFlow): MovementRequest {
  const name = stepName(step, who, flow);
  const overrides = lowerOverrides(options, flow, `the movement to ${name} of ${who}`, name);
  return {
    step: name,
    input: input === undefined ? null : encode(input, `input of ${name}`),
    overrides: Object.keys(overrides).length > 0 ? overrides : null,
  };
}

export function stepName(type: Class, who: string, flow: CompiledFlow): string {
  const name = flow.stepName(type);
  if (name === undefined) throw notOfFlow(who, flow, 'Step', type);
  return name;
}

function channelName(type: Class, task: Task, flow: CompiledFlow): string {
  const channel = flow.channelOf(type);
  if (!channel) throw notOfFlow(task.step, flow, 'Channel', type);
  return channel.name;
}

function notOfFlow(who: string, flow: CompiledFlow, what: string, type: Class): HoldfastError {
  const name = typeof type === 'function' ? type.name : String(type);
  return new HoldfastError(
    'DEFINITION',
    `${who} named the ${what} ${name}, which the Flow ${flow.plan.name} does not have.`,
    {
      where: who,
      fix:
        what === 'Step'
          ? `Add ${name} to static steps of ${flow.type.name}.`
          : `Take ${name} in the constructor of ${who}.`,
    },
  );
}

function wrongReturn(task: Task, method: string, returned: unknown, expected: string): HoldfastError {
  return new HoldfastError('DEFINITION', `${task.step}.${method} returned ${nameOf(returned)}; expected ${expected}.`, {
    where: task.step,
    fix: `Return ${expected}.`,
  });
}

function nameOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'function') return `the function ${value.name || 'without a name'}`;
  if (typeof value !== 'object') return `the ${typeof value} ${String(value)}`;
  if (isWait(value)) return 'a Wait';
  if (isDecision(value)) return 'a Decision';
  const name = value.constructor?.name;
  return name === undefined || name === 'Object' ? 'a plain object' : `an instance of ${name}`;
}
