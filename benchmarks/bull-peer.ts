import { Queue, Worker } from 'bullmq';
import { mark } from './flows';

const name = 'chain';

export interface Link {
  readonly id: string;
  readonly left: number;
}

function connectionTo(redis: string) {
  const { hostname: host, port } = new URL(redis);
  return { host, port: Number(port), maxRetriesPerRequest: null };
}

/** Jobs that do nothing but add the next one, kept by Redis alone. */
export async function bullWorker(redis: string, ended: (id: string) => void) {
  const connection = connectionTo(redis);
  const queue = new Queue<Link>(name, { connection });
  const worker = new Worker<Link>(
    name,
    async ({ data: { id, left } }) => {
      mark();
      if (left > 1) await queue.add(name, { id, left: left - 1 }, { removeOnComplete: true });
      else ended(id);
    },
    { connection, concurrency: 100 },
  );
  await worker.waitUntilReady();
  return {
    close: async () => {
      await worker.close();
      await queue.close();
    },
  };
}

export function bullProducer(redis: string) {
  const queue = new Queue<Link>(name, { connection: connectionTo(redis) });
  return {
    add: async (link: Link) => void (await queue.add(name, link, { removeOnComplete: true })),
    close: () => queue.close(),
  };
}
