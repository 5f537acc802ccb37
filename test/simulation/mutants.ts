/** A deliberate bug: one place of the library, and what stands there instead. */
export interface Mutant {
  readonly name: string;
  readonly file: string;
  /** Occurs once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** Bugs that the simulation must find. */
export const mutants: readonly Mutant[] = [
  {
    name: 'a request is answered before it is saved',
    file: 'lib/engine/intake.ts',
    find: 'this.parts.pipeline.whenDurable(this.parts.cells.get(request.flowId)?.changedIn ?? 0, () => {\n        this.backlog--;',
    replace: 'this.parts.pipeline.whenDurable(0, () => {\n        this.backlog--;',
  },
  {
    name: 'what only ASYNC writes hold is read as durable',
    file: 'lib/engine/reads.ts',
    find: 'this.pipeline.whenDurable(cell?.changedIn ?? 0, () => {',
    replace: 'this.pipeline.whenDurable(cell?.syncResultIn ?? 0, () => {',
  },
  {
    name: 'a worker is told that its result is taken before it is saved',
    file: 'lib/engine/shard-session.ts',
    find: 'this.pipeline.whenDurable(this.pipeline.gathering, () => this.outlet.post(worker, message));',
    replace: 'this.outlet.post(worker, message);',
  },
  {
    name: 'the inbox is trimmed before its messages are durable',
    file: 'lib/engine/shard-session.ts',
    find: 'this.pipeline.whenDurable(this.pipeline.gathering, () => this.outlet.trim(this.inbox, messages.length));',
    replace: 'this.outlet.trim(this.inbox, messages.length);',
  },
  {
    name: 'a SYNC call is handed out before its start is durable',
    file: 'lib/engine/tasks.ts',
    find: 'pipeline.whenDurable(pipeline.gathering, send);',
    replace: 'send();',
  },
  {
    name: 'an ASYNC call is handed out before the SYNC result that led to it',
    file: 'lib/engine/tasks.ts',
    find: 'return pipeline.whenDurable(cell.syncResultIn, send);',
    replace: 'return send();',
  },
  {
    name: 'the outcome of an unknown write is taken for success',
    file: 'lib/engine/write-pipeline.ts',
    find: 'this.stop();\n        this.hooks.failed(error);',
    replace: 'this.finish(number);\n        this.go();',
  },
  {
    name: 'a worker that lives is taken for gone at take-over',
    file: 'lib/engine/tasks.ts',
    find: 'if (owner.dispatch.isGone(worker)) gone.add(worker);',
    replace: 'if (worker) gone.add(worker);',
  },
  {
    name: 'silence before the hand-out counts',
    file: 'lib/engine/handed-out.ts',
    find: 'now - Math.max(since, holder.heardAt)',
    replace: 'now - holder.heardAt',
  },
  {
    name: 'beats are not listened to',
    file: 'lib/engine/handed-out.ts',
    find: '    holder.heardAt = now;\n    const known',
    replace: '    const known',
  },
  {
    name: 'no wake record is written',
    file: 'lib/engine/run-record.ts',
    find: 'if (wake !== undefined) batch.set(wake, encodeRecord(this.run.head.flowId));',
    replace: '',
  },
  {
    name: 'a retry that is on offer is not found by the next owner',
    file: 'lib/core/due.ts',
    find: 'turn.run.retrying.add(id);',
    replace: '',
  },
  {
    name: 'the lease is not asked before the engine speaks',
    file: 'lib/engine/outlet.ts',
    find: 'if (this.lease.isValid()) return true;',
    replace: "if (what === 'tell' || this.lease.isValid()) return true;",
  },
  {
    name: 'the clock of a shard begins anew with each owner',
    file: 'lib/engine/shard-clock.ts',
    find: 'Math.max(clock.now(), stored)',
    replace: 'Math.max(clock.now(), 0)',
  },
  {
    name: 'tokens are not told apart between owners',
    file: 'lib/engine/tasks.ts',
    find: 'const { owner, epoch, run } = this.parts;',
    replace: 'const { owner, run } = this.parts;\n    const epoch = 1;',
  },
  {
    name: 'the result of a stale token is accepted',
    file: 'lib/core/result.ts',
    find: "execution?.call?.state === 'running' && execution.call.token === command.token ?",
    replace: "execution?.call?.state === 'running' ?",
  },
  {
    name: 'the result of a cancelled execution is accepted',
    file: 'lib/core/apply.ts',
    find: "    case 'StepCancelled':\n",
    replace:
      "    case 'StepCancelled':\n      if (run.running.has(event.execution) && event.reason.startsWith('cancelled')) return;\n",
  },
  {
    name: 'ids of starts are not remembered',
    file: 'lib/core/start.ts',
    find: 'turn.flow.remember(command.requestId, command.digest, answer, turn.now);',
    replace: '',
  },
  {
    name: 'ids of messages are not remembered',
    file: 'lib/core/publish.ts',
    find: 'turn.flow.remember(id, digest, null, turn.now);',
    replace: '',
  },
  {
    name: 'locks are let go during back-off',
    file: 'lib/core/run-state.ts',
    find: "call.state !== 'delayed' && call.locks.length > 0) this.locks.hold",
    replace: "call.state !== 'delayed' && call.state !== 'backoff' && call.locks.length > 0) this.locks.hold",
  },
  {
    name: 'a lock is granted past those that asked first',
    file: 'lib/core/lock-table.ts',
    find: 'if (earlier === holder) break;',
    replace: 'if (earlier === holder || earlier !== holder) break;',
  },
  {
    name: 'consumed messages go back when their execution ends',
    file: 'lib/core/run-state.ts',
    find: 'this.messages.retire(key, before.won!.at);',
    replace: '(this.messages as any).enqueue(this.messages.get(key)!.address, key);',
  },
  {
    name: 'the last candidate that holds wins',
    file: 'lib/core/wait.ts',
    find: 'of execution.wait.candidates.entries()) {',
    replace: 'of [...execution.wait.candidates.entries()].reverse()) {',
  },
  {
    name: 'a timer counts as fired a second too early',
    file: 'lib/core/wait.ts',
    find: 'condition.dueAt > now &&',
    replace: 'condition.dueAt > now + 1_000 &&',
  },
  {
    name: 'a retry sees a snapshot of its own',
    file: 'lib/core/apply.ts',
    find: 'snapshot: run.executions.get(event.execution)!.call!.snapshot ?? run.head.events,',
    replace: 'snapshot: run.head.events,',
  },
  {
    name: 'old versions of Attributes are dropped while a call sees them',
    file: 'lib/core/attribute-values.ts',
    find: 'return !next || this.snapshots.seesWithin(version, next[0]);',
    replace: 'return !next;',
  },
  {
    name: 'the attempt of a lost worker is not counted',
    file: 'lib/core/apply.ts',
    find: "        state: 'backoff',\n",
    replace:
      "        state: 'backoff',\n        ...(event.failure.name === 'WorkerLost' && { attempt: run.executions.get(event.execution)!.call!.attempt - 1 }),\n",
  },
  {
    name: 'one attempt more than the policy allows',
    file: 'lib/core/policy.ts',
    find: 'call.attempt >= policy.maximumAttempts',
    replace: 'call.attempt > policy.maximumAttempts',
  },
  {
    name: 'a recovery Step hears of no start when the handler was entered',
    file: 'lib/core/failure-route.ts',
    find: "const started = entered || execution.call?.durability === 'ASYNC';",
    replace: 'const started = !entered;',
  },
  {
    name: 'a Flow completes while a Step waits',
    file: 'lib/core/settle.ts',
    find: 'run.head.completing && run.executions.size === 0;',
    replace: 'run.head.completing && [...run.executions.values()].every(({ wait }) => wait !== null);',
  },
  {
    name: 'a drained worker uses up an attempt',
    file: 'lib/core/apply.ts',
    find: 'attempt: attempt - 1,',
    replace: 'attempt,',
  },
  {
    name: 'a flow whose records could not be read is parked for good',
    file: 'lib/engine/cells.ts',
    find: 'if (isOfStore(error)) throw error;',
    replace: '',
  },
  {
    name: 'the caller of an RPC is answered before it is saved',
    file: 'lib/engine/calls.ts',
    find: 'pipeline.whenDurable(cells.get(call.flowId)?.changedIn ?? 0, () => {\n      for (const request',
    replace: 'pipeline.whenDurable(0, () => {\n      for (const request',
  },
  {
    name: 'ids of RPCs are not remembered',
    file: 'lib/core/call.ts',
    find: 'turn.flow.remember(requestId, digest, answer, turn.now);',
    replace: '',
  },
  {
    name: 'a transactional call has no window',
    file: 'lib/core/call.ts',
    find: 'if (open.transactional) run.window = open.requestId;',
    replace: '',
  },
  {
    name: 'an RPC does not wait for its locks',
    file: 'lib/core/call.ts',
    find: 'if (open.locks.length === 0) return makeReady(turn, open);',
    replace: 'return makeReady(turn, open);',
  },
  {
    name: 'unread messages do not go along over continue-as-new',
    file: 'lib/core/continue.ts',
    find: 'for (const [key, row] of from.messages.entries()) tables.messages.set(key, row);',
    replace: '',
  },
  {
    name: 'a SubFlow begins again when its start is repeated',
    file: 'lib/core/subflow.ts',
    find: 'const answer = known ?? begin(turn, command);',
    replace: 'const answer = begin(turn, command);',
  },
  {
    name: 'a run that a SubFlow was attached to ends with its wait',
    file: 'lib/core/apply-subflow.ts',
    find: 'const stop = attached ? null : child.stop;',
    replace: 'const { stop } = child;',
  },
  {
    name: 'a closed parent forgets children whose start is not confirmed',
    file: 'lib/core/flow-state.ts',
    find: "if (state === 'closed' || (state",
    replace: "if (state !== 'started' || (state",
  },
  {
    name: 'what a replaced run owes its parents is dropped',
    file: 'lib/core/turn.ts',
    find: 'this.flow.keepOutcome(flowId, command);',
    replace: '',
  },
  {
    name: 'an attempt sees SubFlows that closed after its snapshot',
    file: 'lib/core/claim.ts',
    find: 'child?.outcome && child.closedIn! <= call.snapshot!',
    replace: 'child?.outcome',
  },
  {
    name: 'a run is removed before its retention is over',
    file: 'lib/engine/run-record.ts',
    find: 'keys.garbage(at + config.retentionMs, runId, upTo)',
    replace: 'keys.garbage(at + config.retentionMs / 2, runId, upTo)',
  },
  {
    name: 'a Flow times out a second too early',
    file: 'lib/core/run-state.ts',
    find: 'this.due.set(deadlineKey, this.head.deadlineAt);',
    replace: 'this.due.set(deadlineKey, this.head.deadlineAt! - 1_000);',
  },
];
