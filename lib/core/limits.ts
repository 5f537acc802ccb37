/** Limits above which a command or result is refused whole (P9); `docs/guarantees.md` lists them. */
export const limits = {
  movementsPerDecision: 10_000,
  openExecutions: 50_000,
  unreadMessages: 100_000,
  publishesPerCall: 10_000,
  conditionsPerWait: 10_000,
  /** Runs of one schedule that are open at a time, and firings of one backfill. */
  openFirings: 10_000,
  backfill: 1_000,
  /** Bytes of everything one result or command carries. */
  commandBytes: 64 * 1024 * 1024,
  /** How long, and at least how many, ids of requests are remembered per flowId (I1). */
  rememberedMs: 24 * 3_600_000,
  rememberedCount: 1_000,
  /** How long a granted call may wait for a worker while others wait for its locks (L3). */
  lockIdleMs: 5_000,
  /** Silence of a worker after which a call that it had started is given to another (R6). */
  callSilenceMs: 15_000,
  /** The same for a transactional call: its window must not end before another worker can try. */
  windowSilenceMs: 2_000,
  /** The longest window of a transactional call (R7). */
  windowMs: 5_000,
} as const;
