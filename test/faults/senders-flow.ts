import {
  Attribute,
  Channel,
  continueAsNew,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  Step,
  until,
} from '../../index';

export const senders = 10;

/** The number of a sender, and of its message, from 1. */
export interface Sent {
  readonly sender: number;
  readonly seq: number;
}

/** Which message of each sender was handled last, and what came twice, not at all or out of order. */
export interface Seen {
  readonly last: readonly number[];
  readonly wrong: readonly string[];
}

@Channel({ name: 'mail' })
export class Mail extends DurableChannel<Sent> {}

@Attribute({ name: 'seen' })
export class SeenMail extends DurableAttribute<Seen> {}

export interface Terms {
  /** Messages of each sender, after which the Flow completes. */
  readonly each: number;
  /** Whether every Step but the last begins a new run. */
  readonly continues: boolean;
}

@Step({ name: 'Read', heartbeatTimeout: '3s', retry: { initialInterval: '20ms', coefficient: 1 } })
export class ReadStep {
  constructor(
    private readonly mail: Mail,
    private readonly seen: SeenMail,
  ) {}

  waitFor() {
    return until(this.mail.takeBetween(1, 7));
  }

  execute(terms: Terms) {
    const before = this.seen.get() ?? { last: Array.from({ length: senders }, () => 0), wrong: [] };
    const [last, wrong] = [[...before.last], [...before.wrong]];
    for (const { sender, seq } of this.mail.received()) {
      if (seq !== last[sender]! + 1) wrong.push(`${seq} of sender ${sender} after ${last[sender]}`);
      last[sender] = seq;
    }
    const seen = { last, wrong };
    this.seen.set(seen);
    if (last.every((seq) => seq >= terms.each)) return gracefulComplete(seen);
    return terms.continues ? continueAsNew(SendersFlow, terms) : goTo(ReadStep, terms);
  }
}

/** Reads the mail of ten senders, and rolls over all the time. */
@Flow({ name: 'senders', historyLimit: 60, retention: '1h' })
export class SendersFlow {
  static readonly start = ReadStep;
}

/** Flows that are sent the same, and how each rolls over. */
export const targets = { continued: true, rolled: false } as const;

export const clusterFlows = [SendersFlow];
