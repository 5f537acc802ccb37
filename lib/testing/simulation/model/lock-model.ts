import { type LockClaim, nameOf } from '../../../core';

/** Who holds and who waits for locks, by the contract's words: all at once, first come first served (L2). */
export class LockModel {
  private readonly holders = new Map<string, readonly LockClaim[]>();
  private readonly waiting = new Map<string, readonly LockClaim[]>();

  wait(id: string, claims: readonly LockClaim[]): void {
    this.waiting.set(id, claims);
  }

  /** Who holds a lock that these claims need. */
  conflict(claims: readonly LockClaim[]): string | undefined {
    for (const [holder, held] of this.holders) if (conflict(claims, held)) return holder;
    return undefined;
  }

  /** Why `id` must not be given its locks now; undefined where it may. */
  obstacle(id: string): string | undefined {
    const claims = this.waiting.get(id);
    if (!claims) return `${id} does not wait for locks`;
    const holder = this.conflict(claims);
    if (holder !== undefined) return `${holder} holds one of them`;
    for (const [earlier, wanted] of this.waiting) {
      if (earlier === id) return undefined;
      if (conflict(claims, wanted)) return `${earlier} asked first`;
    }
    return undefined;
  }

  grant(id: string): void {
    this.holders.set(id, this.waiting.get(id)!);
    this.waiting.delete(id);
  }

  release(id: string): void {
    this.holders.delete(id);
    this.waiting.delete(id);
  }

  holds(id: string): boolean {
    return this.holders.has(id);
  }

  /** Somebody who could have his locks and was not given them. */
  neglected(): string | undefined {
    for (const id of this.waiting.keys()) if (this.obstacle(id) === undefined) return id;
    return undefined;
  }
}

function conflict(a: readonly LockClaim[], b: readonly LockClaim[]): boolean {
  return a.some((one) =>
    b.some((other) => meet(one, other) && (one.mode === 'exclusive' || other.mode === 'exclusive')),
  );
}

/** The same place, or an entry and the whole map that it is in. */
function meet(a: LockClaim, b: LockClaim): boolean {
  return a.address === b.address || nameOf(a.address) === b.address || a.address === nameOf(b.address);
}
