import type { Logger } from '../ports';

/** A logger of the user's that can do no harm: what it throws, or rejects with, is dropped. */
export function guarded(logger: Logger): Logger {
  const log = (level: keyof Logger) => (message: string, fields?: Record<string, unknown>) => {
    try {
      const logged: unknown = logger[level](message, fields);
      if (logged instanceof Promise) logged.catch(() => {});
    } catch {
      // Nobody is left to tell.
    }
  };
  return { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
}
