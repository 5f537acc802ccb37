import type { Logger } from '../ports';

const guards = new Set<{ readonly logger: Logger }>();

/**
 * Keeps the process alive when user code leaves a rejected promise that nobody awaits: it is logged, and the other tasks go on
 * (X11). Gives the function that ends it; the process is as before when no worker is left.
 */
export function outliveStrayRejections(logger: Logger): () => void {
  const guard = { logger };
  if (guards.size === 0) process.on('unhandledRejection', log);
  guards.add(guard);
  return () => {
    guards.delete(guard);
    if (guards.size === 0) process.off('unhandledRejection', log);
  };
}

function log(reason: unknown): void {
  const [guard] = guards;
  guard?.logger.error('a promise was rejected and nobody awaits it: is an await missing in a handler?', {
    error: reason,
  });
}
