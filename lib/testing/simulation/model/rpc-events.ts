import type { Event } from '../../../core';
import { decode } from '../../../values';
import type { CallScript } from '../workload/program';
import { showCallSeen } from '../workload/seen';
import type { Check, Witness } from './check';
import { askForChildren } from './child-events';
import type { RunModel } from './run-model';
import { applyStaged } from './step-events';

type Of<K extends Event['kind']> = Event & { readonly kind: K };

/** Locks that a call holds from its hand-out to its end. */
export function locksOfCall(rpc: string, { account }: CallScript) {
  if (rpc === 'add' || rpc === 'swap') return [{ address: 'Counter', mode: 'exclusive' }] as const;
  return rpc === 'book' ? ([{ address: `Ledger\u0000${account}`, mode: 'exclusive' }] as const) : [];
}

/** An RPC's writes and answer (R3): once for each request, by a handler that returned, and never for one turned down. */
export function rpcCompleted(run: RunModel, event: Of<'RpcCompleted'>, check: Check, witness: Witness): void {
  const { rpc, requestId, staged } = event;
  const { flowId } = run.program;
  const [script] = decode(event.args) as [CallScript];
  const what = `${rpc} ${requestId}`;
  check(!run.answers.has(requestId), 'R6', `${what} was saved twice`);
  check(!script.rejected, 'R4', `${what} was saved, and its validator turns it down`);
  check(!script.throws, 'R5', `${what} was saved, and its handler throws`);
  const obstacle = run.locks.conflict(locksOfCall(rpc, script));
  check(obstacle === undefined, 'L2', `${what} ended while ${obstacle} holds its lock`);
  const bodies = witness.journal.ofRequest(flowId, requestId).filter(({ ended }) => ended === 'returned');
  check(bodies.length > 0, 'R3', `${what} was saved, and its handler has not returned`);
  const book = rpc === 'book' ? script.account : undefined;
  const seen = bodies.map((body) => showCallSeen(body.seen));
  if (rpc === 'swap') {
    // In its window nothing else takes effect; what is published meanwhile is seen after (R7).
    const now = JSON.stringify(run.callAttributes());
    const same = bodies.some((body) => JSON.stringify(sortedAttributes(body.seen.attributes)) === now);
    check(same, 'R7', `${what} saw ${seen.join(' or ')}, and something else took effect before its writes: ${now}`);
  } else if (book === undefined) {
    const known = seen.some((each) => run.wasOnce(each));
    check(known, 'R3', `${what} saw ${seen.join(' or ')}, which never was so`);
  }
  applyStaged(run, what, staged, script.publishes.length, event.at, check);
  for (const id of script.deletes) run.deleteMessage(id);
  const answer = decode(event.answer);
  const expected = rpc === 'post' ? 'posted' : run.attributes.get(book === undefined ? 'Counter' : `Ledger ${book}`);
  check(answer === expected, 'R3', `${what} is answered with ${answer} instead of ${expected}`);
  run.answers.set(requestId, answer);
  // In a closing run it starts and cancels nothing any more (R9).
  if (run.closing) return;
  run.movements = [...script.starts];
  askForChildren(run, script.children, check, what);
  for (const { id } of run.executions.values()) {
    if (script.cancels.some((step) => id.startsWith(`${step}-`))) run.cancels.add(id);
  }
}

function sortedAttributes(attributes: Readonly<Record<string, unknown>>): unknown {
  return Object.keys(attributes)
    .sort()
    .map((key) => [key, attributes[key]]);
}
