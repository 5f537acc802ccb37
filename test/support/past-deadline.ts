/**
 * Moves the clock past a deadline that is `ms` away, in steps small enough for the engine to answer before the client, which
 * waits a second longer, gives up by itself.
 */
export async function pastDeadline(system: { advance(ms: number): Promise<void> }, ms: number): Promise<void> {
  await system.advance(ms - 1_000);
  for (let i = 0; i < 15; i++) await system.advance(100);
}
