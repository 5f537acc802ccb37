/** Polls until `check` neither throws nor gives false, and gives what it gave; at the deadline fails as it last did. */
export async function eventually<T>(check: () => T | Promise<T>, deadlineMs = 60_000): Promise<T> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    let problem: unknown;
    try {
      const value = await check();
      if (value !== false) return value;
      problem = new Error(`Not within ${deadlineMs} ms: ${check}`);
    } catch (error) {
      problem = error;
    }
    if (Date.now() > end) throw problem;
    await new Promise<void>((resolve) => setTimeout(resolve, 3));
  }
}
