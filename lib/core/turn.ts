import type { FlowPlan } from '../plan';
import { apply, begin } from './apply';
import type { TimeTravelled } from './chain-event';
import { continueRun } from './continue';
import type { Effect } from './effect';
import type { Event, EventBody } from './event';
import type { FlowState } from './flow-state';
import { type Names, namesFor, storedPlan } from './names';
import { type Tell, tellObligation, tellParents } from './outbox';
import type { Address } from './payload';
import type { RunState } from './run-state';
import { travelledRun } from './travelled-run';

/** Another plan of the run's Flow that has a Step. */
export type PlanWith = (step: string) => FlowPlan | undefined;

/**
 * One command being decided. Events take effect as they are emitted, so that what follows sees them; a command that may be
 * refused is therefore checked whole before its first event.
 */
export class Turn {
  readonly events: Event[] = [];
  readonly effects: Effect[] = [];
  /** What may have changed for others, looked at when the command itself is done (see `settle`). */
  readonly freedLocks = new Set<Address>();
  readonly wantingLocks = new Set<string>();
  readonly arrivedOn = new Set<Address>();
  readonly waitsToTry = new Set<string>();
  readonly maybeReady = new Set<string>();

  /** The plan in the words of the run. */
  readonly plan: FlowPlan;
  /** What those are, where the plan or the run has been renamed in. */
  readonly names: Names | undefined;

  /** @param begins the command is about a run that is to begin, whatever there was before. */
  constructor(
    readonly flow: FlowState,
    plan: FlowPlan,
    readonly now: number,
    begins = false,
    private readonly planWith: PlanWith = () => undefined,
  ) {
    this.names = namesFor(plan, begins ? undefined : flow.run);
    this.plan = storedPlan(plan, this.names);
  }

  /** The run the command is about; only to be used where there is one. */
  get run(): RunState {
    return this.flow.run!;
  }

  /** The plan by which a Step is scheduled and retried: the command's, or where that lacks the Step, one that has it (V2). */
  planFor(step: string): FlowPlan {
    if (this.plan.steps[step]) return this.plan;
    const other = this.planWith(step);
    return other ? storedPlan(other, namesFor(other, this.flow.run)) : this.plan;
  }

  emit(body: EventBody): void {
    const event: Event = { at: this.now, ...body };
    this.events.push(event);
    if (event.kind === 'FlowStarted') {
      for (const { flowId, command } of this.flow.run ? tellParents(this.flow.run) : []) {
        this.flow.keepOutcome(flowId, command);
      }
      this.flow.setRun(begin(event));
      return;
    }
    if (event.kind === 'RunContinued') {
      this.flow.setRun(continueRun(this.run, event));
      for (const id of this.run.ready) this.maybeReady.add(id);
      return;
    }
    if (isAboutExecution(event)) this.noteBefore(event);
    apply(this.run, event);
    if (isAboutExecution(event)) this.noteAfter(event);
    if (event.kind === 'FlowClosed' && event.nextRunId === undefined) this.noteClosed();
    if (event.kind === 'MessagePublished') this.arrivedOn.add(event.address);
    if ('staged' in event) for (const [address] of event.staged.publishes) this.arrivedOn.add(address);
  }

  /** What the command's plan calls by another name is remembered with what the command did (V3). */
  learnNames(): void {
    const { names } = this;
    const { run } = this.flow;
    if (names && run?.isOpen && this.events.length > 0 && run.head.names !== names) {
      this.emit({ kind: 'NamesLearned', names });
    }
  }

  /** Begins a run from the state of a moment that is past (K4). */
  beginFrom(source: RunState, body: TimeTravelled): void {
    const event = { at: this.now, ...body };
    this.events.push(event);
    this.flow.setRun(travelledRun(source, event));
  }

  /** Sends a message to another flow once this turn is saved. */
  tell(tell: Tell | undefined): void {
    if (tell) this.effects.push({ kind: 'tell', ...tell });
  }

  answer(value: unknown): void {
    this.effects.push({ kind: 'answer', value });
  }

  /** The run has closed: its parents hear of it, and what it owes its children stays with the flowId. */
  private noteClosed(): void {
    for (const tell of tellParents(this.run)) this.tell(tell);
    this.flow.inherit(this.run);
    for (const obligation of this.flow.obligations.values())
      this.tell(tellObligation(this.flow.head.flowId, obligation));
  }

  private noteBefore(event: Event & { execution: string }): void {
    const ends = event.kind === 'ExecuteCompleted' || event.kind === 'StepFailed' || event.kind === 'StepCancelled';
    if (ends || event.kind === 'LocksReturned') {
      for (const address of this.run.locks.addressesOf(event.execution)) this.freedLocks.add(address);
    }
    const call = this.run.executions.get(event.execution)?.call;
    if (event.kind === 'StepCancelled' && call?.state === 'running') {
      this.effects.push({ kind: 'abort', worker: call.worker!, token: call.token!, reason: event.reason });
    }
  }

  private noteAfter(event: Event & { execution: string }): void {
    const execution = this.run.executions.get(event.execution);
    if (execution?.wait) this.waitsToTry.add(execution.id);
    if (execution?.call?.state === 'locked') this.wantingLocks.add(execution.id);
    if (execution?.call?.state === 'ready') this.maybeReady.add(execution.id);
  }
}

function isAboutExecution(event: Event): event is Event & { execution: string } {
  return 'execution' in event && typeof event.execution === 'string' && event.kind !== 'ChildRequested';
}
