/** The one source of chance in a simulation: small, fast, and the same for the same seed everywhere (sfc32). */
export class Random {
  private a: number;
  private b: number;
  private c: number;
  private d = 1;

  constructor(seed: number) {
    this.a = seed | 0;
    this.b = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b);
    this.c = (seed / 0x100000000) | 0;
    for (let i = 0; i < 12; i++) this.bits();
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    return this.bits() / 0x100000000;
  }

  /** A whole number from 0 to `count` - 1. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  /** Small numbers as often as large ones: even over the logarithm. */
  magnitude(from: number, to: number): number {
    return Math.round(from * (to / from) ** this.next());
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  /** A source of its own: what one part draws does not move what another part gets. */
  fork(): Random {
    return new Random(this.bits());
  }

  private bits(): number {
    const sum = (((this.a + this.b) | 0) + this.d) | 0;
    this.d = (this.d + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = ((this.c << 21) | (this.c >>> 11)) + sum;
    return sum >>> 0;
  }
}
