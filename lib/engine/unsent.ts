/** Hand-outs that wait for a write. A worker that never hears of a task cannot give its slot back: that is done here. */
export class Unsent {
  private readonly workers = new Map<string, string>();

  constructor(private readonly slots: { release(worker: string, token: string): void }) {}

  add(token: string, worker: string): void {
    this.workers.set(token, worker);
  }

  /** It goes out now; false if it was over before it could begin. */
  send(token: string): boolean {
    return this.workers.delete(token);
  }

  drop(token: string): void {
    const worker = this.workers.get(token);
    if (worker === undefined) return;
    this.workers.delete(token);
    this.slots.release(worker, token);
  }

  dropAll(): void {
    for (const token of [...this.workers.keys()]) this.drop(token);
  }
}
