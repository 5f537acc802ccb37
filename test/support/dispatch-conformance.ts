import assert from 'node:assert/strict';
import type { Beat, Hint, HoldfastDispatch, StepHint, ToProcess, ToShard } from '../../lib/dispatch';
import type { Inbox } from '../../lib/ports';
import { eventually } from './eventually';

let made = 0;

function beat(process: string): Beat {
  return { kind: 'beat', process, tokens: [], values: [] };
}

function hint(flow: string, taskQueue: string, n: number): StepHint {
  const [runId, execution, step] = ['run', `Step-${n}`, 'Step'];
  return {
    kind: 'step',
    id: `${flow}/${taskQueue}/${n}`,
    shard: 0,
    flowId: 'f',
    flow,
    runId,
    execution,
    issue: n,
    step,
    taskQueue,
  };
}

const processesOf = (messages: readonly ToShard[]) => messages.map((message) => (message as Beat).process);

/** What every dispatch must do. `open` gives one end each time; all ends reach each other. */
export function describeDispatch(
  name: string,
  open: () => Promise<{ dispatch: HoldfastDispatch; close(): void }>,
): void {
  describe(`Dispatch: ${name}`, function () {
    this.timeout(20_000);
    let here: HoldfastDispatch;
    let there: HoldfastDispatch;
    let closing: (() => void)[] = [];
    let unique: string;

    beforeEach(async () => {
      const ends = [await open(), await open()];
      here = ends[0]!.dispatch;
      there = ends[1]!.dispatch;
      closing = ends.map(({ close }) => close);
      unique = `${name}-${++made}`.replaceAll(' ', '-');
    });

    afterEach(() => {
      for (const close of closing) close();
    });

    function takenFrom(inbox: Inbox<ToShard>, taken: ToShard[], count: number): Promise<unknown> {
      return eventually(() => {
        taken.push(...inbox.take(100));
        return taken.length >= count;
      });
    }

    it('brings messages to a shard in order, also those sent before it was opened', async () => {
      await here.send(1, beat('a'));
      await here.send(1, beat('b'));
      const inbox = there.openInbox(1, () => {});
      await here.send(1, beat('c'));
      const taken: ToShard[] = [];
      await takenFrom(inbox, taken, 3);
      assert.deepEqual(processesOf(taken), ['a', 'b', 'c']);
      inbox.trim(3);
      inbox.close();
    });

    it('gives again what was taken and not trimmed, to the same owner and to the next', async () => {
      const inbox = there.openInbox(2, () => {});
      for (const process of ['a', 'b', 'c']) await here.send(2, beat(process));
      const first: ToShard[] = [];
      await takenFrom(inbox, first, 3);
      inbox.trim(1);
      inbox.rewind();
      assert.deepEqual(processesOf(inbox.take(100)), ['b', 'c']);
      inbox.close();
      await eventually(async () => {
        const next = here.openInbox(2, () => {});
        const again: ToShard[] = [];
        await takenFrom(next, again, 2);
        next.close();
        assert.deepEqual(processesOf(again), ['b', 'c']);
      });
    });

    it('says that something has arrived', async () => {
      let arrivals = 0;
      const inbox = there.openInbox(3, () => arrivals++);
      await here.send(3, beat('a'));
      await eventually(() => arrivals > 0);
      assert.equal(inbox.isHeard, true);
      assert.equal(inbox.take(10).length, 1);
      inbox.trim(1);
      inbox.close();
    });

    it('posts to a process, whole and in order; to one that is gone, does nothing', async () => {
      const got: ToProcess[] = [];
      const mailbox = there.openMailbox(unique, (message) => got.push(message));
      const value = {
        bytes: Buffer.from([0, 255, 10, 13]),
        when: new Date(7),
        none: undefined,
        many: new Map([[1, 2n]]),
      };
      here.post('nobody', { kind: 'answer', id: 'x', value: 1 }, { shard: 0, epoch: 1 });
      for (let i = 0; i < 5; i++) here.post(unique, { kind: 'answer', id: `${i}`, value }, { shard: 0, epoch: 1 });
      await eventually(() => got.length === 5);
      assert.deepEqual(
        got.map((message) => (message as { id: string }).id),
        ['0', '1', '2', '3', '4'],
      );
      assert.deepEqual((got[0] as { value: unknown }).value, value);
      mailbox.close();
    });

    it('carries what is as large as a payload may be', async () => {
      const got: ToProcess[] = [];
      const mailbox = there.openMailbox(unique, (message) => got.push(message));
      const value = Buffer.alloc(4 * 1024 * 1024, 7);
      here.post(unique, { kind: 'answer', id: 'large', value }, { shard: 0, epoch: 1 });
      await eventually(() => got.length === 1);
      assert.ok(value.equals((got[0] as { value: Buffer }).value));
      mailbox.close();
    });

    it('[P5] drops what a replaced owner still says', async () => {
      const got: string[] = [];
      const mailbox = there.openMailbox(unique, (message) => got.push((message as { id: string }).id));
      here.post(unique, { kind: 'answer', id: 'old', value: 1 }, { shard: 5, epoch: 1 });
      await eventually(() => got.length === 1);
      here.post(unique, { kind: 'answer', id: 'new', value: 1 }, { shard: 5, epoch: 2 });
      await eventually(() => got.length === 2);
      here.post(unique, { kind: 'answer', id: 'late', value: 1 }, { shard: 5, epoch: 1 });
      here.post(unique, { kind: 'answer', id: 'other', value: 1 }, { shard: 6, epoch: 1 });
      await eventually(() => got.length === 3);
      assert.deepEqual(got, ['old', 'new', 'other']);
      mailbox.close();
    });

    it('gives each hint to one worker that serves its queue, and no more than it wants', async () => {
      const flow = unique;
      const got: [string, Hint][] = [];
      const offers = here.openOffers();
      const take = (worker: string) => (each: Hint) => got.push([worker, each]);
      const queues = { flows: [flow], taskQueues: ['mail'] };
      const first = there.openHints('first', queues, take('first'));
      const second = there.openHints('second', { ...queues, taskQueues: ['other'] }, take('second'));
      for (let n = 0; n < 6; n++) offers.offer(hint(flow, 'mail', n));
      offers.offer(hint(`${flow}-unserved`, 'mail', 1));
      first.want(4);
      second.want(10);
      await eventually(() => got.length === 4);
      assert.ok(got.every(([worker, { taskQueue }]) => worker === 'first' && taskQueue === 'mail'));
      for (const [, each] of got) first.done(each);
      first.want(10);
      await eventually(() => got.length === 6);
      assert.equal(new Set(got.map(([, { id }]) => id)).size, 6);
      for (const reader of [first, second]) reader.close();
      offers.close();
    });

    it('gives to others what a worker does not want, and to nobody what is withdrawn', async () => {
      const flow = unique;
      const offers = here.openOffers();
      const given: Hint[] = [];
      const wanted = { flows: [flow], taskQueues: ['mail'] };
      const first = there.openHints('first', wanted, (each) => given.push(each));
      offers.offer(hint(flow, 'mail', 1));
      first.want(1);
      await eventually(() => given.length === 1);
      first.giveBack(given[0]!);
      const taken: Hint[] = [];
      const second = here.openHints('second', wanted, (each) => taken.push(each));
      second.want(5);
      await eventually(() => taken.length === 1);
      assert.equal(taken[0]!.id, given[0]!.id);
      second.done(taken[0]!);
      // One that a worker may be reading at this moment is for its owner to refuse, so nobody reads this queue yet.
      offers.offer(hint(flow, 'later', 2));
      offers.withdraw(hint(flow, 'later', 2).id);
      offers.offer(hint(flow, 'later', 3));
      const late: Hint[] = [];
      const third = here.openHints('third', { flows: [flow], taskQueues: ['later'] }, (each) => late.push(each));
      for (const reader of [first, second]) reader.close();
      third.want(5);
      await eventually(() => late.some(({ id }) => id.endsWith('/3')));
      assert.equal(late.length, 1);
      third.close();
      offers.close();
    });
  });
}
