import { outsideInvocation } from '../authoring';
import type { Compiled } from '../compiler';
import type { Outcome } from '../core';
import type { HandOut, HoldfastDispatch, ToProcess } from '../dispatch';
import type { Clock, HandlerResolver, Logger, Mailbox } from '../ports';
import { type Attempt, Attempts } from './attempts';
import { Beats } from './beats';
import { runAttempt } from './run-attempt';

export interface WorkerSettings {
  /** Steps that run at a time [100] (X13). */
  readonly slots: number;
  /** Task queues it serves [all] (T1). */
  readonly taskQueues: readonly string[] | null;
  /** How long `close` waits for handlers before their signals abort [30 s] (X6). */
  readonly graceMs: number;
  /** How long aborted handlers have to end before their tasks are given back [1 s]. */
  readonly abortMs: number;
}

export const defaultWorkerSettings: WorkerSettings = { slots: 100, taskQueues: null, graceMs: 30_000, abortMs: 1_000 };

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

/** Runs the users' Step methods. Knows nothing of the state of a Flow but what a task carries. */
export class Worker {
  private readonly settings: WorkerSettings;
  private readonly attempts = new Attempts();
  private readonly beats: Beats;
  private mailbox: Mailbox | undefined;
  private draining = false;
  private closing: Promise<void> | undefined;
  private hurry: () => void = () => {};

  constructor(private readonly parts: WorkerParts) {
    this.settings = { ...defaultWorkerSettings, ...parts.settings };
    this.beats = new Beats(
      parts.process,
      this.attempts,
      parts.clock,
      (shard, beat) => this.send(shard, beat),
      (attempt) => this.report(attempt),
    );
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

  /**
   * Takes no more tasks and waits for those that run, at most for the grace; then aborts their signals, and gives back what
   * does not end even then, without using up an attempt (X6). A second call ends the grace at once.
   */
  close(): Promise<void> {
    if (this.closing) this.hurry();
    this.closing ??= this.drain();
    return this.closing;
  }

  private async drain(): Promise<void> {
    if (!this.mailbox) return;
    const { dispatch, process, shards } = this.parts;
    this.draining = true;
    for (let shard = 0; shard < shards; shard++) await dispatch.send(shard, { kind: 'leave', process });
    if (!(await this.doneWithin(this.settings.graceMs))) {
      for (const { abort } of this.attempts.all()) abort.abort(new Error('the worker is closing'));
      if (!(await this.doneWithin(this.settings.abortMs))) {
        for (const attempt of this.attempts.all()) {
          if (attempt.outcome) continue;
          attempt.outcome = returned(attempt, true);
          this.report(attempt);
        }
        await this.doneWithin(this.settings.abortMs);
      }
    }
    this.beats.close();
    this.mailbox.close();
    this.mailbox = undefined;
  }

  private async doneWithin(ms: number): Promise<boolean> {
    if (this.attempts.size === 0) return true;
    return new Promise<boolean>((resolve) => {
      const cancel = this.parts.clock.after(ms, () => resolve(false));
      this.hurry = () => {
        cancel();
        resolve(this.attempts.size === 0);
      };
      this.attempts.none().then(() => {
        cancel();
        resolve(true);
      });
    });
  }

  private take(message: ToProcess): void {
    switch (message.kind) {
      case 'handOut':
        return this.start(message);
      case 'abort':
        return this.attempts.get(message.token)?.abort.abort(new Error(message.reason));
      case 'resultTaken': {
        const attempt = this.attempts.get(message.token);
        if (!attempt?.outcome) return;
        if (!message.accepted) {
          this.parts.logger.warn('a result came too late and was discarded', { execution: attempt.task.execution });
        }
        this.attempts.end(message.token);
      }
    }
  }

  private start({ shard, task }: HandOut): void {
    const attempt = this.attempts.begin(shard, task);
    if (!attempt) {
      // The engine that asks again may have missed the result.
      const known = this.attempts.get(task.token);
      if (known?.outcome) this.report(known);
      return;
    }
    this.beats.watch(attempt);
    if (this.draining) {
      attempt.outcome = returned(attempt, false);
      this.report(attempt);
      return;
    }
    outsideInvocation(() => this.run(attempt)).catch((error) => {
      this.parts.logger.error('an attempt could not be run', { execution: task.execution, error });
    });
  }

  private async run(attempt: Attempt): Promise<void> {
    const { compiled, resolver, logger } = this.parts;
    const { task, abort } = attempt;
    const outcome = await runAttempt(task, compiled.flows.get(task.flow)!, {
      resolver,
      signal: abort.signal,
      logger,
      onHeartbeat: (value) => {
        attempt.unsentValue = { value };
        attempt.lastValue = { value };
        this.beats.soon(attempt);
      },
    });
    // It was given back meanwhile: what it did counts no more.
    if (attempt.outcome) return;
    // A handler that fails because its worker closes has not failed by itself.
    const drained = outcome.kind === 'failed' && this.draining && abort.signal.aborted;
    attempt.outcome = drained ? returned(attempt, true) : outcome;
    this.report(attempt);
  }

  private report(attempt: Attempt): void {
    const { process, compiled, clock } = this.parts;
    const { shard, task, outcome } = attempt;
    attempt.sentAt = clock.monotonic();
    const command = {
      kind: 'result',
      runId: task.runId,
      execution: task.execution,
      token: task.token,
      worker: process,
      plan: compiled.flows.get(task.flow)!.plan.fingerprint,
      outcome: outcome!,
    } as const;
    this.send(shard, { kind: 'result', flowId: task.flowId, command });
  }

  private send(shard: number, message: Parameters<HoldfastDispatch['send']>[1]): void {
    this.parts.dispatch.send(shard, message).catch((error) => {
      // Sent again with a later beat.
      this.parts.logger.warn('a message to a shard could not be sent', { shard, kind: message.kind, error });
    });
  }
}

function returned({ lastValue }: Attempt, entered: boolean): Outcome {
  return { kind: 'returned', entered, ...(lastValue && { heartbeat: lastValue.value }) };
}
