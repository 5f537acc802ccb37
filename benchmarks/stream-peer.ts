import { Redis } from 'ioredis';
import type { Link } from './bull-peer';
import { mark } from './flows';

const key = 'bench:stream';
const group = 'workers';

/** Entries of a stream, each of which does nothing but add the next one: the least that a step over Redis can be. */
export async function streamWorker(redis: string, ended: (id: string) => void) {
  const reading = new Redis(redis);
  const commands = new Redis(redis);
  await commands.xgroup('CREATE', key, group, '0', 'MKSTREAM');
  let closed = false;
  const loop = async () => {
    while (!closed) {
      const read = await reading.xreadgroup(
        ...(['GROUP', group, 'one', 'COUNT', 100, 'BLOCK', 200, 'STREAMS', key, '>'] as const),
      );
      const pipeline = commands.pipeline();
      for (const [, entries] of (read ?? []) as [string, [string, string[]][]][]) {
        for (const [entryId, [, text]] of entries) {
          const { id, left } = JSON.parse(text!) as Link;
          mark();
          if (left > 1) pipeline.xadd(key, '*', 'l', JSON.stringify({ id, left: left - 1 }));
          else ended(id);
          pipeline.xack(key, group, entryId).xdel(key, entryId);
        }
      }
      await pipeline.exec();
    }
  };
  const looping = loop();
  return {
    close: async () => {
      closed = true;
      await looping;
      reading.disconnect();
      commands.disconnect();
    },
  };
}

export function streamProducer(redis: string) {
  const commands = new Redis(redis);
  return {
    add: async (link: Link) => void (await commands.xadd(key, '*', 'l', JSON.stringify(link))),
    close: async () => commands.disconnect(),
  };
}
