import { type Decision, type RpcContext, RpcRejected, type StepContext } from '../../../authoring';
import { recordFlow, recordMember } from '../../../metadata';
import { startChildren } from './children';
import { movementOf } from './movement';
import { performTimeout } from './perform';
import { Probe } from './probe';
import { type CallScript, flowSettings } from './program';
import { type CallSeen, showCallSeen } from './seen';
import { Counter, Ledger, Letters, Note, Parcels, parcelKeys } from './state';
import { nameFlows, stepNamed } from './step-names';
import { Plain, steps, Waiting } from './steps';

/** RPCs and Queries, the same in all flows of the workload. */
class Talking {
  constructor(
    readonly probe: Probe,
    readonly note: Note,
    readonly counter: Counter,
    readonly ledger: Ledger,
    readonly letters: Letters,
    readonly parcels: Parcels,
  ) {}

  check({ rejected }: CallScript): void {
    if (rejected) throw new RpcRejected('it was told to be rejected', { rejected });
  }

  /** Touches no locked state. */
  post(script: CallScript, ctx: RpcContext): Promise<string> {
    return this.perform(script, () => {
      for (const messageId of script.deletes) ctx.deleteMessage(messageId);
      for (const node of script.starts) ctx.go(movementOf(this.probe.nodeAt(ctx, node)) as never);
      ctx.cancel(...script.cancels.map(stepNamed));
      startChildren(script.children);
      return 'posted';
    });
  }

  /** Adds one to the Counter under its exclusive lock. */
  add(script: CallScript): Promise<number> {
    return this.perform(script, () => this.count());
  }

  /** The same in a window of its own. */
  swap(script: CallScript): Promise<number> {
    return this.perform(script, () => this.count());
  }

  /** Adds one to its own entry of the Ledger; turned down where that is locked. */
  book(script: CallScript): Promise<number> {
    const { account } = script;
    return this.perform(
      script,
      () => {
        const booked = (this.ledger.get(account) ?? 0) + 1;
        this.ledger.set(account, booked);
        return booked;
      },
      account,
    );
  }

  /** Reads everything. */
  peek(script: CallScript): Promise<string> {
    return this.perform(script, () => showCallSeen(this.look()));
  }

  late(ctx: StepContext): Promise<Decision> {
    const { probe, note, letters, parcels } = this;
    return performTimeout(probe, ctx, { note, letters, parcels, look: () => this.state() });
  }

  private count(): number {
    const counted = (this.counter.get() ?? 0) + 1;
    this.counter.set(counted);
    return counted;
  }

  private async perform<A>(script: CallScript, act: () => A, account?: string): Promise<A> {
    const run = this.probe.enterCall(this.look(account));
    try {
      if (script.note !== null) this.note.set(script.note);
      for (const { channel, key, text } of script.publishes) {
        if (channel === 'Letters') this.letters.publish(text);
        else this.parcels.publish(key!, text);
      }
      const answer = act();
      await this.probe.sleep(script.sleepMs, new AbortController().signal, true);
      if (script.throws) throw new RangeError('it was told to fail');
      run.ended = 'returned';
      return answer;
    } catch (error) {
      run.ended = 'threw';
      throw error;
    }
  }

  private look(account?: string): CallSeen {
    const unread: Record<string, string[]> = { Letters: this.letters.peek() };
    for (const key of parcelKeys) unread[`Parcels ${key}`] = this.parcels.peek(key);
    return { attributes: { Note: this.note.get() ?? null, ...this.state(account) }, unread };
  }

  private state(account?: string): Record<string, unknown> {
    const seen: Record<string, unknown> = { Counter: this.counter.get() ?? null };
    for (const key of account === undefined ? this.ledger.keys() : [account]) {
      const value = this.ledger.get(key);
      if (value !== undefined) seen[`Ledger ${key}`] = value;
    }
    return seen;
  }
}
const { prototype } = Talking;
const exclusive = { attribute: Ledger, key: '0.account' } as const;
recordMember(prototype, { kind: 'rpc', method: 'post', options: { context: true } });
recordMember(prototype, { kind: 'rpc', method: 'add', options: { locks: [Counter], deadline: '20s' } });
recordMember(prototype, { kind: 'rpc', method: 'swap', options: { locks: [Counter], transactional: true } });
recordMember(prototype, { kind: 'rpc', method: 'book', options: { locks: [exclusive], onLockConflict: 'reject' } });
recordMember(prototype, { kind: 'query', method: 'peek', options: { deadline: '20s' } });
for (const rpc of ['post', 'add', 'swap']) recordMember(prototype, { kind: 'validator', method: 'check', rpc });

const inject = [Probe, Note, Counter, Ledger, Letters, Parcels] as const;

/** SYNC unless its start or a Step says otherwise. */
class Steady extends Talking {
  static readonly start = Plain;
  static readonly steps = Object.values(steps);
}
recordFlow(Steady, { name: 'Steady', inject });

/** ASYNC unless its start or a Step says otherwise, begins with a wait, and decides by itself what a time-out means. */
class Hasty extends Talking {
  static readonly start = Waiting;
  static readonly steps = Object.values(steps);
}
recordFlow(Hasty, { name: 'Hasty', durability: 'ASYNC', inject });
recordMember(Hasty.prototype, { kind: 'onTimeout', method: 'late' });

/** Is cancelled by its time-out. */
class Brief extends Talking {
  static readonly start = Plain;
  static readonly steps = Object.values(steps);
}
recordFlow(Brief, { name: 'Brief', timeout: flowSettings.Brief.timeoutMs, onTimeout: 'cancel', inject });

export const flows = { Steady, Hasty, Brief } as const;
nameFlows(flows as never);
