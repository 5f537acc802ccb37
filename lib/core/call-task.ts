import type { FlowPlan } from '../plan';
import { firstChainOf } from './child';
import { pendingOf } from './claim';
import type { CallTask } from './effect';
import { limits } from './limits';
import type { Names } from './names';
import type { OpenCall } from './open-call';
import { keyOf, nameOf, type Payload } from './payload';
import type { RunState } from './run-state';

/** Everything a worker needs to run a call on the state of this moment. */
export function callTaskOf(run: RunState, plan: FlowPlan, open: OpenCall, names: Names | undefined): CallTask {
  return {
    flowId: run.head.flowId,
    runId: run.head.runId,
    flow: run.head.flow,
    chainId: run.head.chainId,
    originId: firstChainOf(run.head),
    rpc: open.rpc,
    kind: open.kind,
    requestId: open.requestId,
    token: open.token!,
    args: open.args,
    attributes: plan.own.attributes.flatMap((name) => values(run, name, open)),
    channels: pendingOf(run, plan.own.channels, run.head.events),
    locks: open.locks,
    silenceMs: open.transactional ? limits.windowSilenceMs : limits.callSilenceMs,
    ...(names && { names }),
    ...((open.trace ?? run.head.trace) && { trace: open.trace ?? run.head.trace }),
  };
}

function values(run: RunState, name: string, open: OpenCall): (readonly [string, Payload])[] {
  const keys = open.locks.filter(({ address }) => nameOf(address) === name && keyOf(address) !== undefined);
  const addresses = keys.length > 0 ? keys.map(({ address }) => address) : run.attributes.addressesOf(name);
  return [...addresses].flatMap((address) => {
    const value = run.attributes.read(address);
    return value === undefined ? [] : [[address, value] as const];
  });
}
