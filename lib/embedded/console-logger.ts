import type { Logger } from '../ports';

/** Warnings and errors as JSON lines on standard error. */
export const consoleLogger: Logger = {
  debug() {},
  info() {},
  warn: (message, fields) => write('warn', message, fields),
  error: (message, fields) => write('error', message, fields),
};

function write(level: string, message: string, fields: Record<string, unknown> = {}): void {
  const plain = Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? value.stack : value]);
  const line = { time: new Date().toISOString(), level, message, ...Object.fromEntries(plain) };
  process.stderr.write(`${JSON.stringify(line, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))}\n`);
}
