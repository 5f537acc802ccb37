import { outsideInvocation } from '../authoring';
import type { Compiled } from '../compiler';
import { type CallOutcome, type CallTask, type Outcome, type Task } from '../core';
import type { Claim, HoldfastDispatch, Introduce, Result, ToProcess } from '../dispatch';
import type { Clock, HandlerResolver, Logger, Mailbox, Telemetry } from '../ports';
import { Beats } from './beats';
import { Claims } from './claims';
import { type InHand, InHands, returned } from './in-hand';
import { inOwnWords } from './own-words';
import { Presence } from './presence';
import { runAttempt } from './run-attempt';
import { runCall } from './run-call';
import { outliveStrayRejections } from './stray-rejections';
import { wantedBy } from './wanted';

export interface WorkerSettings {
  /** Steps that run at a time [100] (X13). */
  readonly slots: number;
  /** RPCs and Queries that run at a time, besides Steps [50] (X13). */
  readonly callSlots: number;
  /** Task queues it serves [all] (T1). */
  readonly taskQueues: readonly string[] | null;
  /** How long `close` waits for handlers before their signals abort [30 s] (X6). */
  readonly graceMs: number;
  /** How long aborted handlers have to end before their tasks are given back [1 s]. */
  readonly abortMs: number;
}

export const defaultWorkerSettings: WorkerSettings = {
  slots: 100,
  callSlots: 50,
  taskQueues: null,
  graceMs: 30_000,
  abortMs: 1_000,
};

export interface WorkerParts {
  /** Names this process; new for each. */
  readonly process: string;
  readonly compiled: Compiled;
  readonly resolver: HandlerResolver;
  readonly dispatch: HoldfastDispatch;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry?: Telemetry | undefined;
  readonly shards: number;
  /** Engines give it tasks by themselves, because they share its process; otherwise it looks for them [true]. */
  readonly standing?: boolean;
  readonly guards?: boolean; // keeps its process alive over stray rejections [true] (X11)
  readonly settings?: Partial<WorkerSettings>;
}

/** Runs the users' Step methods. Knows nothing of the state of a Flow but what a task carries. */
export class Worker {
  private readonly settings: WorkerSettings;
  private readonly held = new InHands();
  private readonly attempts = new Map<string, Task>();
  private readonly beats: Beats;
  private readonly claims: { readonly steps: Claims; readonly calls: Claims } | undefined;
  private readonly presence: Presence | undefined;
  private mailbox: Mailbox | undefined;
  private endGuard: () => void = () => {};
  private draining = false;
  private closing: Promise<void> | undefined;
  private hurry: () => void = () => {};

  constructor(private readonly parts: WorkerParts) {
    this.settings = { ...defaultWorkerSettings, ...parts.settings };
    this.beats = new Beats(
      parts.process,
      this.held,
      parts.clock,
      (shard, beat) => this.send(shard, beat),
      (inHand) => this.report(inHand),
    );
    if (parts.standing === false) {
      this.claims = { steps: this.claimsOf('steps'), calls: this.claimsOf('calls') };
      this.presence = new Presence(parts, parts.clock, (presence) => this.tellAll(presence));
    }
  }

  /** Makes itself known to every shard; tasks arrive from then on. */
  async open(): Promise<void> {
    const { dispatch, process, compiled, shards, resolver } = this.parts;
    resolver.adopt(compiled.classes);
    if (this.parts.guards ?? true) this.endGuard = outliveStrayRejections(this.parts.logger);
    this.mailbox = dispatch.openMailbox(process, (message) => this.take(message));
    await Promise.all(Array.from({ length: shards }, (_, shard) => dispatch.send(shard, this.introduction())));
    this.claims?.steps.open();
    this.claims?.calls.open();
    this.presence?.open();
  }

  private introduction(): Introduce {
    const { compiled, process } = this.parts;
    const plans = [...compiled.flows.values()].map(({ plan }) => plan);
    const { slots, callSlots, taskQueues } = this.settings;
    return { kind: 'introduce', process, plans, worker: this.claims ? null : { slots, callSlots, taskQueues } };
  }

  private claimsOf(what: 'steps' | 'calls'): Claims {
    const { process, compiled, dispatch, clock } = this.parts;
    const { slots, callSlots, taskQueues } = this.settings;
    return new Claims({
      ...{ process, compiled, dispatch, clock },
      slots: what === 'steps' ? slots : callSlots,
      wanted: wantedBy(compiled, what === 'steps' ? taskQueues : 'calls'),
      running: () => this.held.running(what === 'steps' ? 'result' : 'callResult'),
      send: (shard: number, claim: Claim) => this.send(shard, claim),
    });
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
    this.draining = true;
    this.presence?.close();
    this.tellAll({ kind: 'leave', process: this.parts.process });
    if (this.claims) {
      const { abortMs } = this.settings;
      await Promise.all([this.claims.steps.stop(abortMs), this.claims.calls.stop(abortMs)]);
    }
    if (!(await this.doneWithin(this.settings.graceMs))) {
      for (const { abort } of this.held.all()) abort.abort(new Error('the worker is closing'));
      if (!(await this.doneWithin(this.settings.abortMs))) {
        for (const [token, task] of this.attempts) {
          const inHand = this.held.get(token);
          if (inHand) this.endAttempt(inHand, task, returned(inHand, true));
        }
        await this.doneWithin(this.settings.abortMs);
      }
    }
    this.beats.close();
    this.mailbox.close();
    this.mailbox = undefined;
    this.endGuard();
  }

  private async doneWithin(ms: number): Promise<boolean> {
    if (this.held.size === 0) return true;
    return new Promise<boolean>((resolve) => {
      const cancel = this.parts.clock.after(ms, () => resolve(false));
      this.hurry = () => {
        cancel();
        resolve(this.held.size === 0);
      };
      this.held.none().then(() => {
        cancel();
        resolve(true);
      });
    });
  }

  private take(message: ToProcess): void {
    switch (message.kind) {
      case 'handOut':
        this.startAttempt(message.shard, message.task);
        return this.answered(message.claim, message.task.token);
      case 'handOutCall':
        this.startCall(message.shard, message.task);
        return this.answered(message.claim, message.task.token);
      case 'claimRefused':
        return this.answered(message.claim);
      case 'unknown':
        return this.introduceAgain(message.shard);
      case 'abort':
        this.claims?.steps.ended(message.token);
        return this.held.get(message.token)?.abort.abort(new Error(message.reason));
      case 'resultTaken': {
        const inHand = this.held.get(message.token);
        if (!inHand?.result) return;
        if (!message.accepted) {
          const { flowId, name } = inHand;
          this.parts.logger.warn('a result came too late and was discarded', { flowId, name });
        }
        this.held.end(message.token);
        this.attempts.delete(message.token);
        this.claims?.steps.taken(message.token, message.accepted);
        this.claims?.calls.taken(message.token, message.accepted);
      }
    }
  }

  private answered(claim: string | undefined, token?: string): void {
    if (claim === undefined) return;
    this.claims?.steps.answered(claim, token);
    this.claims?.calls.answered(claim, token);
  }

  private introduceAgain(shard: number): void {
    this.send(shard, this.introduction());
    this.claims?.steps.repeat(shard);
    this.claims?.calls.repeat(shard);
    for (const inHand of this.held.all()) if (inHand.shard === shard && inHand.result) this.report(inHand);
  }

  private startAttempt(shard: number, task: Task): void {
    const { token, flowId, heartbeatTimeoutMs } = task;
    const inHand = this.begin({ shard, token, of: 'result', flowId, name: task.execution, heartbeatTimeoutMs });
    if (!inHand) return;
    this.attempts.set(token, task);
    if (this.draining) return this.endAttempt(inHand, task, returned(inHand, false));
    outsideInvocation(() => this.runAttempt(inHand, task)).catch((error) => this.notRun(inHand, error));
  }

  private startCall(shard: number, task: CallTask): void {
    const { token, flowId, rpc, silenceMs } = task;
    const inHand = this.begin({
      ...{ shard, token, flowId },
      of: 'callResult',
      name: rpc,
      heartbeatTimeoutMs: silenceMs,
    });
    if (!inHand) return;
    outsideInvocation(() => this.runCall(inHand, task)).catch((error) => this.notRun(inHand, error));
  }

  /** undefined where the token runs already, or has run. */
  private begin(task: Parameters<InHands['begin']>[0]): InHand | undefined {
    const inHand = this.held.begin(task);
    if (inHand) this.beats.watch(inHand);
    else {
      // The engine that asks again may have missed the result.
      const known = this.held.get(task.token);
      if (known?.result) this.report(known);
    }
    return inHand;
  }

  private async runAttempt(inHand: InHand, task: Task): Promise<void> {
    const { signal } = inHand.abort;
    const flow = this.parts.compiled.flowNamed(task.flow)!;
    const outcome = await runAttempt(inOwnWords(task, flow.plan), flow, {
      ...{ ...this.parts, signal },
      onHeartbeat: (value) => {
        inHand.unsentValue = { value };
        inHand.lastValue = { value };
        this.beats.soon(inHand);
      },
    });
    // A handler that fails because its worker closes has not failed by itself.
    const drained = outcome.kind === 'failed' && this.draining && signal.aborted;
    this.endAttempt(inHand, task, drained ? returned(inHand, true) : outcome);
  }

  private endAttempt(inHand: InHand, { flowId, runId, execution, flow }: Task, outcome: Outcome): void {
    // It was given back meanwhile: what it did counts no more.
    if (inHand.result) return;
    const command = { kind: 'result', ...{ runId, execution, outcome }, ...this.stamp(inHand, flow) } as const;
    inHand.result = { kind: 'result', flowId, command };
    this.report(inHand);
  }

  private async runCall(inHand: InHand, task: CallTask): Promise<void> {
    const { flowId, requestId, flow } = task;
    const parts = { ...this.parts, signal: inHand.abort.signal };
    const known = this.parts.compiled.flowNamed(flow)!;
    const outcome: CallOutcome = await runCall(inOwnWords(task, known.plan), known, parts);
    const command = { kind: 'callResult', requestId, outcome, ...this.stamp(inHand, flow) } as const;
    inHand.result = { kind: 'callResult', flowId, command };
    this.report(inHand);
  }

  private stamp({ token }: InHand, flow: string) {
    const plan = this.parts.compiled.flowNamed(flow)!.plan.fingerprint;
    return { token, worker: this.parts.process, plan };
  }

  private report(inHand: InHand): void {
    inHand.sentAt = this.parts.clock.monotonic();
    const { shard, token, result } = inHand;
    const offer = result!.kind === 'result' ? this.claims?.steps.offer(token) : undefined;
    this.send(shard, offer ? { ...(result as Result), offer } : result!);
    this.beats.resendLater();
  }

  private tellAll(message: Parameters<HoldfastDispatch['send']>[1]): void {
    for (let shard = 0; shard < this.parts.shards; shard++) this.send(shard, message);
  }

  private send(shard: number, message: Parameters<HoldfastDispatch['send']>[1]): void {
    this.parts.dispatch.send(shard, message).catch((error) => {
      // Sent again with a later beat.
      this.parts.logger.debug('a message to a shard could not be sent', { shard, kind: message.kind, error });
    });
  }

  private notRun({ flowId, name }: InHand, error: unknown): void {
    this.parts.logger.error('a task could not be run', { flowId, name, error });
  }
}
