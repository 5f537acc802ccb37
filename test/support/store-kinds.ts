import type { StateStore } from '../../lib/ports';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { openStore } from '../../lib/store/open-store';
import { S3Server, s3Environment } from './s3-server';
import { temporaryFolder } from './temporary-folder';

/** A kind of store that one process uses alone. */
export interface StoreKind {
  readonly name: string;
  open(): Promise<{ readonly store: StateStore; remove(): Promise<void> }>;
}

export const storeKinds = {
  memory: { name: 'memory', open: async () => ({ store: new MemoryStateStore(), remove: async () => {} }) },
  file: { name: 'SlateDB in a folder', open: () => inFolder('file') },
  lmdb: { name: 'LMDB in a folder', open: () => inFolder('lmdb') },
  s3: { name: 'SlateDB on S3', open: () => onS3() },
} satisfies Record<string, StoreKind>;

async function inFolder(scheme: string) {
  const folder = await temporaryFolder();
  return { store: await openStore(`${scheme}:${folder.path}/state`), remove: folder.remove };
}

let server: Promise<S3Server> | undefined;
let stores = 0;

/** One server for all tests of a run. */
async function onS3() {
  server ??= S3Server.start();
  const { port } = await server;
  Object.assign(process.env, s3Environment(`http://127.0.0.1:${port}`));
  return { store: await openStore(`s3://holdfast/contract-${++stores}`), remove: async () => {} };
}

export async function stopS3(): Promise<void> {
  await (await server)?.stop();
  server = undefined;
}
