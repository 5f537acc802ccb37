import { HoldfastError } from '../errors';
import type { FlowState, Remembered } from './flow-state';
import { limits } from './limits';

/** What our client puts before the UUID v7 of the ids it makes, so that their age can be told (I1). */
export const clientIdPrefix = 'hf:';

/**
 * The remembered request of that id, or undefined for one that is new. Throws `ID_CONFLICT` for other content under a known
 * id (I2) and `REQUEST_EXPIRED` for one so old that it may have been forgotten (I1).
 */
export function checkRepeat(flow: FlowState, id: string, digest: string, now: number): Remembered | undefined {
  const known = flow.ids.get(id);
  if (known) {
    if (known.digest === digest) return known;
    throw new HoldfastError('ID_CONFLICT', `The id ${JSON.stringify(id)} was used before for another request.`, {
      where: flow.head.flowId,
    });
  }
  const madeAt = timeOf(id);
  if (madeAt !== undefined && madeAt < now - limits.rememberedMs) {
    throw new HoldfastError(
      'REQUEST_EXPIRED',
      `The request ${id} was made ${Math.round((now - madeAt) / 3_600_000)} h ago; ids are remembered for ${limits.rememberedMs / 3_600_000} h.`,
      { where: flow.head.flowId },
    );
  }
  return undefined;
}

function timeOf(id: string): number | undefined {
  if (!id.startsWith(clientIdPrefix)) return undefined;
  const milliseconds = Number.parseInt(id.slice(clientIdPrefix.length).replaceAll('-', '').slice(0, 12), 16);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
