import { HoldfastError } from '../errors';
import type { PublishCommand } from './command';
import { checkChannel } from './declared';
import { limits } from './limits';
import { checkRepeat } from './repeat';
import type { Turn } from './turn';

/** Stores the messages of a client that are not yet known, in their order (C3); all of them or none. */
export function publish(turn: Turn, command: PublishCommand): void {
  const { flow, now } = turn;
  const fresh = command.messages.filter((message) => !checkRepeat(flow, message.id, message.digest, now));
  if (fresh.length > 0) {
    const run = flow.run;
    if (!run?.isTaking) {
      throw new HoldfastError(
        'FLOW_NOT_ACTIVE',
        run
          ? `The Flow ${JSON.stringify(flow.head.flowId)} is ${run.head.status}: nothing can be published to it.`
          : `There is no Flow ${JSON.stringify(flow.head.flowId)} to publish to.`,
        { where: flow.head.flowId },
      );
    }
    for (const { address } of fresh) checkChannel(turn.plan, address);
    if (run.tables.messages.size + fresh.length > limits.unreadMessages) {
      throw new HoldfastError('LIMIT_EXCEEDED', `More than ${limits.unreadMessages} messages would be unread.`, {
        where: flow.head.flowId,
      });
    }
  }
  const seen = new Set<string>();
  for (const { id, digest, address, value } of fresh) {
    if (seen.has(id)) continue;
    seen.add(id);
    turn.emit({ kind: 'MessagePublished', address, messageId: id, value });
    flow.remember(id, digest, null, now);
  }
  turn.answer(null);
}
