import type { Hint, ToProcess, ToShard } from '../../dispatch';
import type { Origin } from '../../ports';
import type { Disk } from './disk';
import type { Told } from './model/told';
import type { SimProcess } from './sim-process';
import type { TrafficWatch } from './switchboard';
import type { Timeline } from './timeline';

export interface TrafficParts {
  readonly timeline: Timeline;
  readonly disk: Disk;
  readonly told: Told;
  /** Who holds the lease of a shard now, where there are leases. */
  holderOf(shard: number): string | undefined;
  note(process: SimProcess, what: () => string): void;
  violated(rule: string, what: string): void;
}

/** Sees all messages: holds what engines say against what is durable, and remembers when they heard whom. */
export class Traffic implements TrafficWatch {
  private readonly beats = new Map<string, number[]>();

  constructor(private readonly parts: TrafficParts) {}

  sent(from: SimProcess, message: ToShard): void {
    const { told, timeline, note } = this.parts;
    note(from, () => `sends ${message.kind} ${'flowId' in message ? message.flowId : ''}`);
    if (message.kind === 'request' || message.kind === 'read' || message.kind === 'call') {
      told.ask(message, timeline.now);
    }
    if (message.kind === 'tell') told.tell(message);
  }

  trimmed(by: SimProcess, message: ToShard): void {
    if (message.kind === 'result') this.parts.told.trimmedResult(by.name, message);
  }

  speaks(from: SimProcess, { shard }: Origin): void {
    const holder = this.parts.holderOf(shard);
    if (holder === undefined || holder === from.name) return;
    this.parts.violated('P5', `${from.name} speaks for shard ${shard}, whose lease ${holder} has`);
  }

  posted(from: SimProcess, to: string, message: ToProcess, { shard, epoch }: Origin): void {
    const { told, disk, note } = this.parts;
    note(from, () => `posts ${message.kind} to ${to} ${tokenOf(message)}`);
    told.check(to, message, disk.shard(shard).epoch === epoch);
  }

  offered(from: SimProcess, hint: Hint): void {
    this.parts.note(from, () => `offers ${hint.flowId} ${hint.kind === 'step' ? hint.execution : hint.rpc}`);
    this.parts.told.offered(hint);
  }

  heard(by: SimProcess, shard: number, worker: string): void {
    const key = `${by.name} ${shard} ${worker}`;
    const times = this.beats.get(key);
    if (times) times.push(this.parts.timeline.now);
    else this.beats.set(key, [this.parts.timeline.now]);
  }

  /** The last time before `until` at which a process heard a beat of a worker. */
  lastHeard(by: SimProcess, shard: number, worker: string, until: number): number | undefined {
    return this.beats
      .get(`${by.name} ${shard} ${worker}`)
      ?.filter((time) => time <= until)
      .at(-1);
  }
}

function tokenOf(message: ToProcess): string {
  if ('token' in message) return `${message.token}${'accepted' in message ? ` ${message.accepted}` : ''}`;
  return 'task' in message ? message.task.token : '';
}
