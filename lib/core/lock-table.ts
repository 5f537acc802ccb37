import type { LockClaim } from './execution';
import { type Address, nameOf } from './payload';

/** Intent modes are what a claim on one entry of a map takes on the map as a whole. */
type Mode = 'intentShared' | 'intentExclusive' | 'shared' | 'exclusive';

const compatible: Record<Mode, readonly Mode[]> = {
  intentShared: ['intentShared', 'intentExclusive', 'shared'],
  intentExclusive: ['intentShared', 'intentExclusive'],
  shared: ['intentShared', 'shared'],
  exclusive: [],
};

interface Lock {
  readonly holders: Map<string, Mode>;
  /** First come, first served (L2). */
  readonly waiting: Map<string, Mode>;
}

/** Who holds and who waits for which lock of one run; derived from its calls. All locks of a call are taken at once (L2). */
export class LockTable {
  private readonly locks = new Map<Address, Lock>();
  private readonly claims = new Map<string, Map<Address, Mode>>();

  wait(holder: string, claims: readonly LockClaim[]): void {
    this.enter(holder, claims, 'waiting');
  }

  hold(holder: string, claims: readonly LockClaim[]): void {
    this.enter(holder, claims, 'holders');
  }

  /** Takes a holder or waiter out, wherever it stands. */
  leave(holder: string): void {
    for (const address of this.claims.get(holder)?.keys() ?? []) {
      const lock = this.locks.get(address);
      lock?.holders.delete(holder);
      lock?.waiting.delete(holder);
      if (lock && lock.holders.size + lock.waiting.size === 0) this.locks.delete(address);
    }
    this.claims.delete(holder);
  }

  isWaiting(holder: string): boolean {
    const [first] = this.claims.get(holder)?.keys() ?? [];
    return first !== undefined && this.locks.get(first)!.waiting.has(holder);
  }

  /** Addresses on which a holder or waiter stands, the maps of its entries included. */
  addressesOf(holder: string): Address[] {
    return [...(this.claims.get(holder)?.keys() ?? [])];
  }

  /** The first waiter on an address that can have all its locks now. */
  grantable(address: Address): string | undefined {
    const lock = this.locks.get(address);
    for (const [holder, mode] of lock?.waiting ?? []) {
      if (this.canHave(holder)) return holder;
      // Nobody may pass a waiter that this mode excludes, so looking on past an exclusive one is in vain.
      if (mode === 'exclusive') return undefined;
    }
    return undefined;
  }

  canHave(holder: string): boolean {
    const claims = this.claims.get(holder);
    if (!claims) return false;
    for (const [address, mode] of claims) {
      const lock = this.locks.get(address);
      if (!lock) continue;
      for (const held of lock.holders.values()) if (!compatible[mode].includes(held)) return false;
      for (const [earlier, wanted] of lock.waiting) {
        if (earlier === holder) break;
        if (!compatible[mode].includes(wanted)) return false;
      }
    }
    return true;
  }

  /** Whether somebody waits for a lock that this holder has. */
  isWanted(holder: string): boolean {
    return this.addressesOf(holder).some((address) => (this.locks.get(address)?.waiting.size ?? 0) > 0);
  }

  describe(): { address: Address; holders: string[]; waiting: string[] }[] {
    return [...this.locks].map(([address, lock]) => ({
      address,
      holders: [...lock.holders.keys()],
      waiting: [...lock.waiting.keys()],
    }));
  }

  private enter(holder: string, claims: readonly LockClaim[], side: 'holders' | 'waiting'): void {
    const modes = modesOf(claims);
    this.claims.set(holder, modes);
    for (const [address, mode] of modes) {
      let lock = this.locks.get(address);
      if (!lock) {
        lock = { holders: new Map(), waiting: new Map() };
        this.locks.set(address, lock);
      }
      lock[side].set(holder, mode);
    }
  }
}

function modesOf(claims: readonly LockClaim[]): Map<Address, Mode> {
  const modes = new Map<Address, Mode>();
  for (const claim of claims) {
    const whole = nameOf(claim.address);
    if (whole !== claim.address) {
      const intent = claim.mode === 'exclusive' ? 'intentExclusive' : 'intentShared';
      if (modes.get(whole) !== 'intentExclusive') modes.set(whole, intent);
    }
    modes.set(claim.address, claim.mode);
  }
  return modes;
}
