import { HoldfastError } from '../errors';
import type { PublishCommand, StartAndPublishCommand } from './command';
import { checkChain, checkChannel, checkFlow } from './declared';
import { limits } from './limits';
import { checkRepeat } from './repeat';
import { checkBytes } from './staged';
import { beginRun, checkStart } from './start';
import type { Turn } from './turn';

/** Stores the messages of a client that are not yet known, in their order (C3); all of them or none. */
export function publish(turn: Turn, command: PublishCommand): void {
  const fresh = freshOf(turn, command.messages);
  if (fresh.length > 0) {
    checkChain(turn.flow.run, command.chainId);
    checkOpen(turn, fresh);
  }
  store(turn, fresh);
  turn.answer(null);
}

/** Begins a run if none is open, and publishes to it, in one write (R10). */
export function startAndPublish(turn: Turn, command: StartAndPublishCommand): void {
  const fresh = freshOf(turn, command.messages);
  const starts = !turn.flow.run?.isTaking;
  if (starts) {
    checkStart(turn, command.start);
    for (const { address } of fresh) checkChannel(turn.plan, address);
    beginRun(turn, command.start);
  } else if (fresh.length > 0) checkOpen(turn, fresh);
  store(turn, fresh);
  const answer = { runId: turn.run.head.runId, started: starts };
  turn.flow.remember(command.requestId, command.digest, answer, turn.now);
  turn.answer(answer);
}

type Messages = PublishCommand['messages'];

function freshOf(turn: Turn, messages: Messages): Messages {
  return messages.filter((message) => !checkRepeat(turn.flow, message.id, message.digest, turn.now));
}

function checkOpen({ flow, plan }: Turn, fresh: Messages): void {
  const { run } = flow;
  if (!run?.isTaking) {
    throw new HoldfastError(
      'FLOW_NOT_ACTIVE',
      run
        ? `The Flow ${JSON.stringify(flow.head.flowId)} is ${run.head.closing ? 'closing' : run.head.status}: nothing can be published to it.`
        : `There is no Flow ${JSON.stringify(flow.head.flowId)} to publish to.`,
      { where: flow.head.flowId },
    );
  }
  checkFlow(plan, run);
  for (const { address } of fresh) checkChannel(plan, address);
  checkBytes(
    fresh.map(({ value }) => value),
    'The publish',
  );
  if (run.tables.messages.size + fresh.length > limits.unreadMessages) {
    throw new HoldfastError('LIMIT_EXCEEDED', `More than ${limits.unreadMessages} messages would be unread.`, {
      where: flow.head.flowId,
    });
  }
}

function store(turn: Turn, fresh: Messages): void {
  const seen = new Set<string>();
  for (const { id, digest, address, value } of fresh) {
    if (seen.has(id)) continue;
    seen.add(id);
    turn.emit({ kind: 'MessagePublished', address, messageId: id, value });
    turn.flow.remember(id, digest, null, turn.now);
  }
}
