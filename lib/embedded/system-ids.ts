import { v7 } from 'uuid';
import type { Clock, Ids } from '../ports';
import { systemClock } from './system-clock';

/** UUIDs v7 that carry the time of a clock: engines tell the age of a request by its id (I1). */
export function idsBy(clock: Clock): Ids {
  return { next: () => (clock === systemClock ? v7() : v7({ msecs: clock.now() })) };
}
