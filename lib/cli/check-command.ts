import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { FlowClass } from '../authoring';
import type { CodeReport } from '../client';
import { openClient } from '../cluster';
import { stepLabel } from '../core';
import { Holdfast } from '../embedded';
import { HoldfastError } from '../errors';
import { readFlow } from '../metadata';
import type { Class } from '../ports';

export const checkUsage = `holdfast check <module> --redis <url> [--namespace <name>] [--shards <n>]
holdfast check <module> --store <url>

Compares the Flows that a module of a build exports, each or in a list, with the open runs, and names what these have and the
build lacks: Steps, Attributes and Channels. With --redis it asks the engines that run. With --store, for one process that is
stopped, it opens the store itself. Ends with 1 when something would break.`;

/** The `check` command. Gives what the process ends with. */
export async function runCheckCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...{ redis: { type: 'string' }, namespace: { type: 'string' }, shards: { type: 'string' } },
      store: { type: 'string' },
    } as const,
  });
  const [path, ...more] = positionals;
  const { redis, namespace, shards, store } = values;
  if (path === undefined || more.length > 0 || (redis === undefined) === (store === undefined)) {
    console.error(checkUsage);
    return 2;
  }
  const flows = flowsOf(require(resolve(path)), path);
  const report =
    redis === undefined
      ? await locally(flows, store!)
      : await remotely({ flows, redis, ...(namespace && { namespace }), ...(shards && { shards: Number(shards) }) });
  for (const { flow, what, name, runs, flowId } of report.lacks) {
    const label = what === 'Step' ? stepLabel(name) : name;
    console.log(`LACKS  ${flow}: the ${what} ${label}, of ${runs} open runs, such as ${JSON.stringify(flowId)}`);
  }
  for (const [flow, runs] of Object.entries(report.foreign)) {
    console.log(`other  ${flow}: ${runs} open runs of a Flow that this build does not have`);
  }
  if (report.lacks.length === 0) console.log(`ok     ${flows.length} Flows have all that open runs need`);
  return report.lacks.length === 0 ? 0 : 1;
}

/** Exported classes that are Flows, and those in exported lists. */
function flowsOf(module: unknown, path: string): FlowClass[] {
  const exported = Object.values((module ?? {}) as Record<string, unknown>).flat();
  const flows = [...new Set(exported)].filter(
    (each) => typeof each === 'function' && readFlow(each as Class),
  ) as FlowClass[];
  if (flows.length > 0) return flows;
  throw new HoldfastError('INVALID_ARGUMENT', `${path} exports no Flow.`, { fix: 'Export the classes marked @Flow.' });
}

async function remotely(options: Parameters<typeof openClient>[0]): Promise<CodeReport> {
  const opened = await openClient(options);
  try {
    return await opened.client.check();
  } finally {
    opened.close();
  }
}

/** The Flows only name what is compared: no Step of theirs is run. */
async function locally(flows: readonly FlowClass[], store: string): Promise<CodeReport> {
  const holdfast = await Holdfast.open({ store, flows, slots: 0, callSlots: 0 });
  try {
    return await holdfast.client.check();
  } finally {
    await holdfast.close();
  }
}
