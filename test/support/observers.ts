let flowIds = 0;

/** A flowId that no other test uses. */
export function fresh(name: string): string {
  return `${name}-${++flowIds}`;
}

/** What handlers did, per flowId: seen from outside of the system under test. */
export class Log<T = string> {
  private readonly entries = new Map<string, T[]>();

  add(flowId: string, entry: T): void {
    const entries = this.entries.get(flowId);
    if (entries) entries.push(entry);
    else this.entries.set(flowId, [entry]);
  }

  of(flowId: string): readonly T[] {
    return this.entries.get(flowId) ?? [];
  }

  count(flowId: string, entry: T): number {
    return this.of(flowId).filter((each) => each === entry).length;
  }
}

/** Where handlers wait, per key, until the test lets them pass. */
export class Gate {
  private readonly opened = new Map<string, { readonly passed: Promise<void>; open(): void }>();
  private readonly arrivals = new Map<string, number>();

  /** Waits until `open(key)`. */
  pass(key: string): Promise<void> {
    this.arrivals.set(key, this.arrived(key) + 1);
    return this.at(key).passed;
  }

  open(key: string): void {
    this.at(key).open();
  }

  /** How many came to the gate, whether or not they could pass. */
  arrived(key: string): number {
    return this.arrivals.get(key) ?? 0;
  }

  private at(key: string) {
    let gate = this.opened.get(key);
    if (!gate) {
      let open = () => {};
      const passed = new Promise<void>((resolve) => {
        open = resolve;
      });
      gate = { passed, open };
      this.opened.set(key, gate);
    }
    return gate;
  }
}
