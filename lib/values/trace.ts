import { HoldfastError } from '../errors';

const traceparent = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** A trace context as W3C has it in `traceparent`. Throws `INVALID_ARGUMENT`. */
export function checkTrace(trace: string): string {
  if (typeof trace === 'string' && traceparent.test(trace)) return trace;
  throw new HoldfastError('INVALID_ARGUMENT', `trace is a W3C traceparent, not ${JSON.stringify(trace)}.`, {
    fix: "Give one such as '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'.",
  });
}
