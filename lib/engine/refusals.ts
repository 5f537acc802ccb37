/** Enough for the time in which a repeat may still come. */
const remembered = 2_000;

/**
 * What was refused lately, by the message that asked for it. A repeat of the message may still be under way: it gets the same
 * answer, so that nothing happens of which the caller was told that it did not.
 */
export class Refusals {
  private readonly errors = new Map<string, Error>();

  note(messageId: string, error: Error): void {
    this.errors.set(messageId, error);
    const [oldest] = this.errors.keys();
    if (this.errors.size > remembered) this.errors.delete(oldest!);
  }

  get(messageId: string): Error | undefined {
    return this.errors.get(messageId);
  }
}
