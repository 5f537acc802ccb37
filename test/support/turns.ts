/** Rounds of the event loop, in which everything runs that needs no time. */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}
