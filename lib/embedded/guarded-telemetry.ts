import type { Telemetry } from '../ports';

/** Telemetry of the user's that can do no harm: what it throws is dropped. */
export function guardedTelemetry(telemetry: Telemetry | undefined): Telemetry | undefined {
  if (!telemetry) return undefined;
  const guard = (tell: () => void) => {
    try {
      tell();
    } catch {
      // The system comes first.
    }
  };
  return {
    count: (...told) => guard(() => telemetry.count(...told)),
    measure: (...told) => guard(() => telemetry.measure(...told)),
  };
}
