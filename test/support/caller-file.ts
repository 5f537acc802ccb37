/** The file of the stack's innermost frame that is in none of these. */
export function callerFile(except: readonly string[]): string {
  const prepare = Error.prepareStackTrace;
  try {
    Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFileName());
    const files = new Error().stack as unknown as (string | null)[];
    return files.find((file) => file && file !== __filename && !except.includes(file)) ?? '';
  } finally {
    Error.prepareStackTrace = prepare;
  }
}
