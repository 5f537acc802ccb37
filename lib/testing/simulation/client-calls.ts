import type { Client } from '../../client';
import { call, type Errand, startOptions } from './client-work';
import type { Random } from './random';
import { Family } from './workload/family';
import { flows } from './workload/flows';
import { generateCall } from './workload/generate-call';
import type { CallScript, Program, Programs, RpcName } from './workload/program';
import { Letters } from './workload/state';

type Proxy = Readonly<Record<RpcName, (script: CallScript) => Promise<unknown>>>;

/** Calls of RPCs and Queries of one flow, and starts that go with a call or a message. */
export function callErrands(
  program: Program,
  random: Random,
  chaosMs: number,
  programs: Programs,
  shared: readonly Program[],
  children: boolean,
): Errand[] {
  const { flowId, flow, nodes } = program;
  const type = flows[flow] as any;
  const names = [...program.calls];
  if (names.length === 0) return [];
  const errands: Errand[] = [];
  const published = Array.from({ length: 8 }, (_, i) => `${flowId} message ${i}.0`);
  const starts = nodes.flatMap(({ step, index }) => (step !== 'Rescue' && index > 0 ? [index] : []));
  const family = children ? new Family(programs, `${flowId}+calls`, shared) : undefined;
  const scriptOf = (rpc: RpcName, number: number) =>
    generateCall(random, rpc, number, { starts: starts.length > 0 ? starts : [0], published, family });
  const at = () => random.magnitude(1, Math.max(2, chaosMs * 1.2));
  const add = (name: string, run: Errand['run'], atMs = at()) =>
    errands.push({ name: `${name} of ${flowId}`, flowId, atMs, waits: false, run, isDone: false });
  const count = random.pick([1, 3, 6, 12]);
  for (let number = 0; number < count; number++) {
    const rpc = random.pick(names);
    const script = scriptOf(rpc, number);
    const requestId = `call ${number} of ${flowId}`;
    const run = (client: Client) => (client.rpc(type, flowId, { requestId, ...call }) as Proxy)[rpc](script);
    add(`${rpc} ${number}`, run);
    // The same request from somewhere else.
    if (random.chance(0.2)) add(`${rpc} ${number} again`, run);
  }
  const first = nodes[0]!.input as never;
  const rpc = names.find((name) => name === 'post' || name === 'add');
  if (rpc && random.chance(0.4)) {
    const options = startOptions(program, random, `startAndCall ${flowId}`, random.pick([undefined, 'ifClosed']));
    const script = { ...scriptOf(rpc, count), deletes: [], children: [] };
    const run = (client: Client) =>
      client.startAndCall(type, flowId, first, ((proxy: Proxy) => proxy[rpc](script)) as never, options as never);
    add('startAndCall', run, random.chance(0.5) ? random.below(2_000) : at());
  }
  if (random.chance(0.3)) {
    const options = startOptions(program, random, `startAndPublish ${flowId}`);
    const messages = [{ channel: Letters, value: 'first message', messageId: `${flowId} first message` }];
    const run = (client: Client) => client.startAndPublish(type, flowId, first, messages, options as never);
    add('startAndPublish', run, random.below(4_000));
  }
  return errands;
}

/** Publishes one message after the other, each when the one before is acknowledged. */
export function senderErrands(program: Program, random: Random): Errand[] {
  const { flowId, nodes } = program;
  const type = flows[program.flow] as any;
  const options = startOptions(program, random, `start of ${flowId}`);
  const senders = random.pick([2, 4, 10]);
  const each = random.between(2, 8);
  return Array.from({ length: senders }, (_, sender) => {
    let next = 0;
    const run = async (client: Client) => {
      await client.start(type, flowId, nodes[0]!.input as never, options as never);
      while (next < each) {
        const value = `sender ${sender}: ${next}`;
        await client.publish(type, flowId, Letters, value, { messageId: `${flowId} ${value}`, ...call });
        next++;
      }
    };
    const atMs = random.below(5_000);
    return { name: `sender ${sender} of ${flowId}`, flowId, atMs, waits: false, run, isDone: false };
  });
}
