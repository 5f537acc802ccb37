import { outsideInvocation } from '../authoring';
import type { Compiled } from '../compiler';
import type { Outcome, Task } from '../core';
import type { HandOut, HoldfastDispatch, ToProcess } from '../dispatch';
import type { Clock, HandlerResolver, Logger, Mailbox } from '../ports';
import { runAttempt } from './run-attempt';

export interface WorkerSettings {
  /** Steps that run at a time [100] (X13). */
  readonly slots: number;
  /** Task queues it serves [all] (T1). */
  readonly taskQueues: readonly string[] | null;
  /** How long `close` waits for handlers before their signals abort [30 s] (X6). */
  readonly graceMs: number;
}

export const defaultWorkerSettings: WorkerSettings = { slots: 100, taskQueues: null, graceMs: 30_000 };

export interface WorkerParts {
  /** Names this process; new for each. */
  readonly process: string;
  readonly compiled: Compiled;
  readonly resolver: HandlerResolver;
  readonly dispatch: HoldfastDispatch;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly shards: number;
  readonly settings?: Partial<WorkerSettings>;
}

interface Attempt {
  readonly shard: number;
  readonly task: Task;
  readonly abort: AbortController;
  /** Set when the handler has ended; sent until the engine has taken it (X5). */
  outcome: Outcome | undefined;
}

/** Runs the users' Step methods. Knows nothing of the state of a Flow but what a task carries. */
export class Worker {
  private readonly settings: WorkerSettings;
  private readonly attempts = new Map<string, Attempt>();
  private mailbox: Mailbox | undefined;
  private readonly idle: (() => void)[] = [];

  constructor(private readonly parts: WorkerParts) {
    this.settings = { ...defaultWorkerSettings, ...parts.settings };
  }

  /** Makes itself known to every shard; tasks arrive from then on. */
  async open(): Promise<void> {
    const { dispatch, process, compiled, shards, resolver } = this.parts;
    resolver.adopt(compiled.classes);
    this.mailbox = dispatch.openMailbox(process, (message) => this.take(message));
    const plans = [...compiled.flows.values()].map(({ plan }) => plan);
    const { slots, taskQueues } = this.settings;
    for (let shard = 0; shard < shards; shard++) {
      await dispatch.send(shard, { kind: 'introduce', process, plans, worker: { slots, taskQueues } });
    }
  }

  /** Takes no more tasks and waits for those that run, at most for the grace; then aborts their signals. */
  async close(): Promise<void> {
    if (!this.mailbox) return;
    const { dispatch, process, shards, clock } = this.parts;
    for (let shard = 0; shard < shards; shard++) await dispatch.send(shard, { kind: 'leave', process });
    await this.drained(clock);
    for (const attempt of this.attempts.values()) attempt.abort.abort(new Error('the worker is closing'));
    this.mailbox.close();
    this.mailbox = undefined;
  }

  private async drained(clock: Clock): Promise<void> {
    if (this.attempts.size === 0) return;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(this.settings.graceMs, resolve);
      this.idle.push(() => {
        cancel();
        resolve();
      });
    });
  }

  private take(message: ToProcess): void {
    switch (message.kind) {
      case 'handOut':
        return this.start(message);
      case 'abort':
        this.attempts.get(message.token)?.abort.abort(new Error(message.reason));
        return;
      case 'resultTaken': {
        const attempt = this.attempts.get(message.token);
        if (!message.accepted && attempt) {
          this.parts.logger.warn('a result came too late and was discarded', { execution: attempt.task.execution });
        }
        this.forget(message.token);
      }
    }
  }

  private start({ shard, task }: HandOut): void {
    const known = this.attempts.get(task.token);
    if (known) {
      // A token runs at most once in a process (X5); the engine that asks again may have missed the result.
      if (known.outcome) this.report(known, known.outcome);
      return;
    }
    const attempt: Attempt = { shard, task, abort: new AbortController(), outcome: undefined };
    this.attempts.set(task.token, attempt);
    outsideInvocation(() => this.run(attempt)).catch((error) => {
      this.parts.logger.error('an attempt could not be run', { execution: task.execution, error });
    });
  }

  private async run(attempt: Attempt): Promise<void> {
    const { compiled, resolver, logger } = this.parts;
    const { task, abort } = attempt;
    const flow = compiled.flows.get(task.flow)!;
    attempt.outcome = await runAttempt(task, flow, { resolver, signal: abort.signal, logger });
    this.report(attempt, attempt.outcome);
  }

  private report({ shard, task }: Attempt, outcome: Outcome): void {
    const { dispatch, process, compiled, logger } = this.parts;
    const command = {
      kind: 'result',
      runId: task.runId,
      execution: task.execution,
      token: task.token,
      worker: process,
      plan: compiled.flows.get(task.flow)!.plan.fingerprint,
      outcome,
    } as const;
    dispatch.send(shard, { kind: 'result', flowId: task.flowId, command }).catch((error) => {
      logger.warn('a result could not be sent', { execution: task.execution, error });
    });
  }

  private forget(token: string): void {
    this.attempts.delete(token);
    if (this.attempts.size === 0) for (const resolve of this.idle.splice(0)) resolve();
  }
}
