import type { Compiled } from '../compiler';
import type { Presence as PresenceMessage } from '../dispatch';
import type { Cancel, Clock } from '../ports';

/** How often a worker that looks for work by itself tells every shard that it is there. */
const presenceMs = 10_000;

/** Lets engines know which Steps somebody could run, so that they can tell which nobody can (V3). */
export class Presence {
  private readonly message: PresenceMessage;
  private cancel: Cancel | undefined;

  constructor(
    { process, compiled }: { readonly process: string; readonly compiled: Compiled },
    private readonly clock: Clock,
    private readonly tellAll: (message: PresenceMessage) => void,
  ) {
    const plans = [...compiled.flows.values()].map(({ plan }) => plan.fingerprint);
    this.message = { kind: 'presence', process, plans };
  }

  open(): void {
    this.tellAll(this.message);
    this.cancel = this.clock.after(presenceMs, () => this.open());
  }

  close(): void {
    this.cancel?.();
  }
}
