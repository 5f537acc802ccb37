import { callerFile } from './caller-file';

let flowIds = 0;

/** A flowId that no other test uses. */
export function fresh(name: string): string {
  return `${name}-${++flowIds}`;
}

/** Something that happened at an observer. */
export type Observation = readonly [observer: string, what: 'add' | 'arrive' | 'open', key: string, entry?: unknown];

/** What the observers of a file know, by their names. */
export type ObserverStates = ReadonlyMap<string, unknown>;

interface Observer {
  take(what: Observation[1], key: string, entry: unknown): void;
  readonly state: unknown;
  restore(state: unknown): void;
}

/**
 * Handlers may run in other processes than the tests that look at them. A process that loads the file of a test makes the
 * observers again that stand at its top, and these tell each other what happens.
 */
class Observers {
  private readonly byName = new Map<string, Observer>();
  private readonly counts = new Map<string, number>();
  /** False while what is made belongs to this process alone: in the body of a `describe`. */
  shared = true;
  /** Tells the other processes. */
  onObservation: (observation: Observation) => void = () => {};

  add(observer: Observer): string {
    if (!this.shared) return '';
    const file = callerFile([__filename]);
    const count = (this.counts.get(file) ?? 0) + 1;
    this.counts.set(file, count);
    const name = `${file}#${count}`;
    this.byName.set(name, observer);
    return name;
  }

  /** Something has happened at an observer of this name in another process. */
  take([name, what, key, entry]: Observation): void {
    this.byName.get(name)?.take(what, key, entry);
  }

  statesIn(file: string): ObserverStates {
    const own = [...this.byName].filter(([name]) => name.startsWith(`${file}#`));
    return new Map(own.map(([name, { state }]) => [name, state]));
  }

  restore(states: ObserverStates): void {
    for (const [name, state] of states) this.byName.get(name)?.restore(state);
  }
}

export const observers = new Observers();

/** What handlers did, per flowId: seen from outside of the system under test. */
export class Log<T = string> implements Observer {
  private readonly name = observers.add(this);
  private entries = new Map<string, T[]>();

  add(flowId: string, entry: T): void {
    this.take('add', flowId, entry);
    observers.onObservation([this.name, 'add', flowId, entry]);
  }

  of(flowId: string): readonly T[] {
    return this.entries.get(flowId) ?? [];
  }

  count(flowId: string, entry: T): number {
    return this.of(flowId).filter((each) => each === entry).length;
  }

  take(_what: Observation[1], flowId: string, entry: unknown): void {
    const entries = this.entries.get(flowId);
    if (entries) entries.push(entry as T);
    else this.entries.set(flowId, [entry as T]);
  }

  get state(): unknown {
    return this.entries;
  }

  restore(state: unknown): void {
    this.entries = state as Map<string, T[]>;
  }
}

/** Where handlers wait, per key, until the test lets them pass. */
export class Gate implements Observer {
  private readonly name = observers.add(this);
  private readonly waiting = new Map<string, (() => void)[]>();
  private opened = new Set<string>();
  private arrivals = new Map<string, number>();

  /** Waits until `open(key)`. */
  pass(key: string): Promise<void> {
    this.take('arrive', key);
    observers.onObservation([this.name, 'arrive', key]);
    if (this.opened.has(key)) return Promise.resolve();
    return new Promise((resolve) => {
      const waiting = this.waiting.get(key);
      if (waiting) waiting.push(resolve);
      else this.waiting.set(key, [resolve]);
    });
  }

  open(key: string): void {
    this.take('open', key);
    observers.onObservation([this.name, 'open', key]);
  }

  /** How many came to the gate, whether or not they could pass. */
  arrived(key: string): number {
    return this.arrivals.get(key) ?? 0;
  }

  take(what: Observation[1], key: string): void {
    if (what === 'arrive') {
      this.arrivals.set(key, this.arrived(key) + 1);
      return;
    }
    this.opened.add(key);
    const waiting = this.waiting.get(key) ?? [];
    this.waiting.delete(key);
    for (const pass of waiting) pass();
  }

  get state(): unknown {
    return { opened: this.opened, arrivals: this.arrivals };
  }

  restore(state: unknown): void {
    const { opened, arrivals } = state as { opened: Set<string>; arrivals: Map<string, number> };
    this.arrivals = arrivals;
    for (const key of opened) this.take('open', key);
  }
}
