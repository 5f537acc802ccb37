import { type AnyStep, type Invocation, Movement, type RpcContext, type SubFlowOptions } from '../authoring';
import type { Compiled, CompiledFlow } from '../compiler';
import type { CallAnswered, CallTask, MovementRequest } from '../core';
import type { Class, Logger } from '../ports';
import { checkId } from '../values';
import { type CallScope, refuseReadOnly } from './call-scope';
import { ChildRequests } from './child-requests';
import { lowerMovement, stepName } from './lower-result';
import { TaskAttributes } from './task-attributes';
import { TaskChannels } from './task-channels';

/** One call of an RPC or Query as user code sees it, and what it has staged so far. */
export class CallInvocation implements Invocation {
  readonly label: string;
  readonly transactionOf?: string;
  ended = false;
  readonly attributes: TaskAttributes;
  readonly channels: TaskChannels;
  readonly context: RpcContext;
  private readonly scope: CallScope;
  private readonly children: ChildRequests;
  private readonly movements: MovementRequest[] = [];
  private readonly cancels = new Set<string>();
  private readonly deleted: string[] = [];

  constructor(
    task: CallTask,
    private readonly flow: CompiledFlow,
    compiled: Compiled,
    what: { readonly readOnly: boolean; readonly signal: AbortSignal; readonly logger: Logger },
  ) {
    this.label = `${task.flowId} ${task.rpc}`;
    if (flow.plan.rpcs[task.rpc]?.transactional) this.transactionOf = task.flowId;
    const { attributes, channels } = flow.plan.own;
    const owner = flow.type.name;
    const scope: CallScope = {
      label: `${owner}.${task.rpc}`,
      ...{ owner, attributes, channels, locks: task.locks, readOnly: what.readOnly },
    };
    this.scope = scope;
    const { flowId, chainId, originId, requestId } = task;
    this.children = new ChildRequests({ flowId, chainId, originId, call: `${task.rpc}.${requestId}` }, compiled);
    this.attributes = new TaskAttributes(scope, flow, task.attributes);
    this.channels = new TaskChannels(scope, flow, task.channels);
    this.context = Object.freeze({
      flowId: task.flowId,
      runId: task.runId,
      requestId: task.requestId,
      signal: what.signal,
      logger: what.logger,
      trace: task.trace,
      start: (step: AnyStep, ...input: unknown[]) => this.go(scope, new Movement(step, input[0])),
      go: (movement: Movement) => this.go(scope, movement),
      cancel: (...steps: AnyStep[]) => {
        refuseReadOnly(scope, 'a cancellation');
        for (const step of steps) this.cancels.add(stepName(step as unknown as Class, scope.label, flow));
      },
      deleteMessage: (messageId: string) => {
        refuseReadOnly(scope, 'the deletion of a message');
        this.deleted.push(checkId(messageId, 'messageId'));
      },
    }) as unknown as RpcContext;
  }

  startSubFlow(type: Class, input: unknown, options: SubFlowOptions): string {
    refuseReadOnly(this.scope, 'the start of a SubFlow');
    return this.children.start(type, input, options);
  }

  staged(): Omit<CallAnswered, 'kind' | 'answer'> {
    return {
      staged: {
        attributes: this.attributes.writes(),
        publishes: this.channels.publishes(),
        locals: {},
        recorded: [],
        children: this.children.all(),
      },
      movements: this.movements,
      cancels: [...this.cancels],
      deleted: this.deleted,
    };
  }

  private go(scope: CallScope, movement: Movement): void {
    refuseReadOnly(scope, 'the start of a Step');
    this.movements.push(lowerMovement(movement, scope.label, this.flow));
  }
}
