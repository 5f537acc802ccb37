import type { FlowTell } from '../../../dispatch';
import { showChildOutcome } from './child-events';
import { outcomeOf } from './child-model';
import type { Durable } from './durable';

/** What is wrong with a message from one flow to another: it must say what is durable (P4, U3). */
export function wrongTell(
  durable: Durable,
  { flowId, command }: FlowTell,
): readonly [rule: string, what: string] | undefined {
  const { chainId, key } = 'parent' in command ? command.parent : command;
  const child = durable.children.get(chainId, key);
  if (!child) return ['P4', `${flowId} is told of the SubFlow ${key}, which is not durable`];
  switch (command.kind) {
    case 'childStart':
      return undefined;
    case 'childStop':
      if (!child.run) return ['U3', `${flowId} is told to end as ${key}, and has not begun`];
      return child.stops.has(command.how)
        ? undefined
        : ['U3', `${flowId} is told to ${command.how} as ${key}, for no reason`];
    case 'childStarted':
      return child.run ? undefined : ['P4', `the start of ${key} is confirmed, and it is not durable`];
    case 'childClosed': {
      if (command.outcome.status === 'refused' && !child.run) child.refused = true;
      // Who knows already, or has closed, does not listen.
      if (child.outcome !== null || !child.parent.latest.isOpen) return undefined;
      if (command.outcome.status === 'refused')
        return child.run ? ['U4', `${key} is refused, and has begun`] : undefined;
      const told = showChildOutcome(command.outcome);
      const truth = child.run && !child.run.latest.isOpen ? outcomeOf(child.run) : 'none';
      return told === truth ? undefined : ['U2', `${key} is said to have ended as ${told}, and ended as ${truth}`];
    }
    case 'childTold': {
      const known = child.outcome !== null || !child.parent.latest.isOpen;
      return known ? undefined : ['U5', `${flowId} is told that its end is known to ${key}, and it is not`];
    }
  }
}
