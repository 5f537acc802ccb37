import type { Invocation, Locals, StepContext, SubFlowOptions, SubFlowOutcome } from '../authoring';
import type { Compiled, CompiledFlow } from '../compiler';
import { type Payload, type Staged, type Task } from '../core';
import { HoldfastError } from '../errors';
import type { Class, Logger } from '../ports';
import { decode, encode, fromFailure } from '../values';
import { ChildRequests } from './child-requests';
import { TaskAttributes } from './task-attributes';
import { TaskChannels } from './task-channels';

/** One attempt as user code sees it: its context, its Attributes and Channels, and what it has staged so far. */
export class StepInvocation implements Invocation {
  readonly label: string;
  ended = false;
  readonly attributes: TaskAttributes;
  readonly channels: TaskChannels;
  readonly children: ChildRequests;
  readonly context: StepContext;
  /** Value of the latest heartbeat of this attempt. */
  heartbeat: { readonly value: Payload | null } | undefined;
  private readonly locals = new Map<string, Payload>();
  private readonly recorded: { name: string; data: Payload | null }[] = [];

  constructor(
    private readonly task: Task,
    flow: CompiledFlow,
    signal: AbortSignal,
    logger: Logger,
    compiled: Compiled,
    private readonly onHeartbeat: (value: Payload | null) => void = () => {},
  ) {
    this.label = `${task.flowId} ${task.execution}.${task.method}`;
    const { attributes, channels } = flow.plan.steps[task.step]!;
    const label = `${task.execution}.${task.method}`;
    const { flowId, chainId, originId } = task;
    this.children = new ChildRequests({ flowId, chainId, originId, call: label }, compiled);
    const scope = { label, owner: task.step, attributes, channels, locks: task.locks, readOnly: false };
    this.attributes = new TaskAttributes(scope, flow, task.attributes);
    this.channels = new TaskChannels(scope, flow, task.channels, task.received);
    this.context = Object.freeze({
      flowId: task.flowId,
      runId: task.runId,
      stepExecutionId: task.execution,
      method: task.method,
      attempt: task.attempt,
      from: task.from,
      idempotencyKey: `${task.chainId}/${task.execution}/${task.method}`,
      signal,
      locals: this.localsAccess(),
      recovery: task.recovery ?? undefined,
      waitFailed: task.waitFailed ?? undefined,
      lastHeartbeat: task.lastHeartbeat === null ? undefined : decode(task.lastHeartbeat),
      logger,
      fired: (id?: string) => (id === undefined ? task.fired.length > 0 : task.fired.includes(id)),
      subFlow: (id?: string) => subFlowOutcome(task, id),
      parent: task.parent ?? undefined,
      trace: task.trace,
      schedule: task.schedule ? { id: task.schedule.id, at: new Date(task.schedule.at) } : undefined,
      heartbeat: (value?: unknown) => this.beat(value),
      recordEvent: (name: string, data?: unknown) => this.recordEvent(name, data),
    });
  }

  startSubFlow(type: Class, input: unknown, options: SubFlowOptions): string {
    return this.children.start(type, input, options);
  }

  staged(): Staged {
    return {
      attributes: this.attributes.writes(),
      publishes: this.channels.publishes(),
      locals: Object.fromEntries(this.locals),
      recorded: this.recorded,
      children: this.children.all(),
    };
  }

  private localsAccess(): Locals {
    const { task, locals } = this;
    return Object.freeze({
      get<T>(name: string): T | undefined {
        const value = locals.get(name) ?? (Object.hasOwn(task.locals, name) ? task.locals[name] : undefined);
        return value === undefined ? undefined : (decode(value) as T);
      },
      set: (name: string, value: unknown) => {
        this.refuseEnded('ctx.locals.set()');
        if (task.method !== 'waitFor') {
          throw new HoldfastError('DEFINITION', `${this.label} set the local ${name}; only waitFor can (S4).`, {
            where: task.step,
            fix: 'Give the value to the next Step as its input, or keep it in an Attribute.',
          });
        }
        locals.set(name, encode(value, `local ${name}`));
      },
    });
  }

  private recordEvent(name: string, data: unknown): void {
    this.refuseEnded('ctx.recordEvent()');
    if (typeof name !== 'string' || name === '') {
      throw new HoldfastError('DEFINITION', `${this.label} recorded an event without a name.`, {
        where: this.task.step,
      });
    }
    this.recorded.push({ name, data: data === undefined ? null : encode(data, `data of the event ${name}`) });
  }

  private beat(value: unknown): void {
    this.refuseEnded('ctx.heartbeat()');
    const payload = value === undefined ? null : encode(value, 'value of the heartbeat');
    this.heartbeat = { value: payload };
    this.onHeartbeat(payload);
  }

  private refuseEnded(use: string): void {
    if (!this.ended) return;
    throw new HoldfastError(
      'OUTSIDE_INVOCATION',
      `${use} was called after ${this.label} had ended: is an await missing?`,
      { where: this.label },
    );
  }
}

function subFlowOutcome(task: Task, id: string | undefined): SubFlowOutcome<never> | undefined {
  const found = task.subFlows.find(([of]) => id === undefined || of === id);
  if (!found) return undefined;
  const [, flowId, { status, failure, outputs }] = found;
  const values = outputs.map(([, value]) => decode(value));
  const output = (values.length === 1 ? values[0] : undefined) as never;
  return { flowId, status, output, outputs: values, error: failure ? fromFailure(failure) : undefined };
}
