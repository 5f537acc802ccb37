/** How often something happened that may lead to more; whoever waits for quiet compares two looks. */
export class Activity {
  count = 0;
  private waiters: (() => void)[] = [];

  note(): void {
    this.count++;
    for (const resolve of this.waiters.splice(0)) resolve();
  }

  /** Resolves at the next activity. */
  next(): Promise<void> {
    return new Promise((resolve) => this.waiters.push(resolve));
  }
}
