import type { StepOverrides } from '../plan';
import type { Command, ConditionRequest, MovementRequest, Outcome, PublishCommand, StartCommand } from './command';
import type { Staged } from './event';
import { type Names, storedAddress, wordsOf } from './names';

/** A command in the words of the run it is about (V3). */
export function storedCommand(command: Command, names: Names): Command {
  if (Object.keys(names.attributes).length + Object.keys(names.channels).length === 0) return command;
  switch (command.kind) {
    case 'start':
      return start(command, names);
    case 'startAndCall':
      return { ...command, start: start(command.start, names) };
    case 'startAndPublish':
      return { ...command, start: start(command.start, names), messages: messages(command.messages, names) };
    case 'publish':
      return { ...command, messages: messages(command.messages, names) };
    case 'result':
      return { ...command, outcome: outcome(command.outcome, names) };
    case 'callResult': {
      const { outcome: result } = command;
      if (result.kind === 'failed') return command;
      const movements = result.movements.map((each) => movement(each, names));
      return { ...command, outcome: { ...result, staged: staged(result.staged, names), movements } };
    }
    default:
      return command;
  }
}

function start(command: StartCommand, names: Names): StartCommand {
  return { ...command, attributes: attributes(command.attributes, names) };
}

function attributes(writes: Staged['attributes'], names: Names): Staged['attributes'] {
  return writes.map(([address, value]) => [storedAddress(names, 'attributes', address), value]);
}

function messages(list: PublishCommand['messages'], names: Names): PublishCommand['messages'] {
  return list.map((message) => ({ ...message, address: storedAddress(names, 'channels', message.address) }));
}

function outcome(result: Outcome, names: Names): Outcome {
  if (result.kind === 'waited') {
    const conditions = result.conditions.map((each) => condition(each, names));
    return { ...result, staged: staged(result.staged, names), conditions };
  }
  if (result.kind !== 'decided') return result;
  const { decision } = result;
  const { channels, next } = decision;
  return {
    ...result,
    staged: staged(result.staged, names),
    decision: {
      ...decision,
      movements: decision.movements.map((each) => movement(each, names)),
      ...(channels && { channels: channels.map(wordsOf(names, 'channels')) }),
      ...(next && { next: { ...next, keep: next.keep?.map(wordsOf(names, 'attributes')) ?? null } }),
    },
  };
}

function staged(all: Staged, names: Names): Staged {
  return {
    ...all,
    attributes: attributes(all.attributes, names),
    publishes: all.publishes.map(([address, value]) => [storedAddress(names, 'channels', address), value]),
  };
}

function condition(each: ConditionRequest, names: Names): ConditionRequest {
  return each.kind === 'channel' ? { ...each, address: storedAddress(names, 'channels', each.address) } : each;
}

function movement(each: MovementRequest, names: Names): MovementRequest {
  return each.overrides === null ? each : { ...each, overrides: overrides(each.overrides, names) };
}

function overrides(all: StepOverrides, names: Names): StepOverrides {
  const { locks } = all;
  if (!locks) return all;
  const attribute = wordsOf(names, 'attributes');
  return { ...all, locks: locks.map((lock) => ({ ...lock, attribute: attribute(lock.attribute) })) };
}
