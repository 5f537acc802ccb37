import type { SubFlowOptions } from '../authoring';
import type { Compiled } from '../compiler';
import type { ChildRequest } from '../core';
import { HoldfastError } from '../errors';
import type { Class } from '../ports';
import { checkId, digest, encode } from '../values';

/** The call that asks for SubFlows: what their ids are made from, so that every attempt gives the same. */
export interface Asker {
  readonly flowId: string;
  readonly chainId: string;
  readonly originId: string;
  /** e.g. `Ship-1.execute`; unique in the chain. */
  readonly call: string;
}

/** Makes the SubFlow requests of one call by names and bytes. */
export class ChildRequests {
  private readonly started: ChildRequest[] = [];

  constructor(
    private readonly asker: Asker,
    private readonly compiled: Compiled,
  ) {}

  /** One that nobody waits for; gives its flowId. */
  start(type: Class, input: unknown, options: SubFlowOptions): string {
    const request = this.make(`${this.asker.call}.${this.started.length}`, type, input, options);
    this.started.push(request);
    return request.flowId;
  }

  /** One that the condition at `index` of a wait waits for. */
  ofCondition(index: number, type: Class, input: unknown, options: SubFlowOptions): ChildRequest {
    return this.make(`${this.asker.call}.wait.${index}`, type, input, options);
  }

  all(): readonly ChildRequest[] {
    return this.started;
  }

  private make(key: string, type: Class, input: unknown, options: SubFlowOptions): ChildRequest {
    const { flowId: parent, chainId, originId, call } = this.asker;
    const flow = this.compiled.flowOf(type);
    if (!flow) {
      throw new HoldfastError(
        'DEFINITION',
        `${call} started ${type?.name ?? String(type)}, which is no Flow of this process.`,
        {
          where: call,
          fix: 'Add the class to `flows`.',
        },
      );
    }
    const flowId = checkId(
      options.flowId ?? `${[...parent].slice(0, 60).join('')}/${call}~${digest(originId, key)}`,
      'flowId of the SubFlow',
    );
    if (flowId === parent) {
      throw new HoldfastError('DEFINITION', `${call} started a SubFlow with its own flowId.`, { where: call });
    }
    return {
      key,
      flowId,
      flow: flow.plan.name,
      plan: flow.plan.fingerprint,
      newRunId: digest(chainId, key),
      input: input === undefined ? null : encode(input, `input of ${flow.plan.name}`),
      parentClose: options.parentClose,
      reuse: options.reuse ?? 'restartIfFailed',
    };
  }
}
