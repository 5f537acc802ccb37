import assert from 'node:assert/strict';
import type { ShardStore } from '../../lib/ports';
import { openStore } from '../../lib/store/open-store';
import { TestCluster } from '../support/cluster';
import { Load } from '../support/cluster-load';
import { eventually } from '../support/eventually';
import { type S3Fault, S3Proxy } from '../support/s3-proxy';
import { S3Server, s3Environment } from '../support/s3-server';

describe('An S3-compatible object store', function () {
  this.timeout(180_000);
  let server: S3Server;
  let proxy: S3Proxy;
  let cluster: TestCluster;
  let stores = 0;

  before(async function () {
    // radosgw, ceph-mon, ceph-osd, ceph-mgr and ceph-common of Debian.
    if (!S3Server.isInstalled) this.skip();
    server = await S3Server.start();
    proxy = await S3Proxy.start(server.port);
  });

  after(async () => {
    await proxy?.stop();
    await server?.stop();
  });

  beforeEach(async () => {
    proxy.fault = () => undefined;
    proxy.done.clear();
    const store = { url: `s3://holdfast/system-${++stores}`, environment: s3Environment(proxy.url) };
    cluster = await TestCluster.start({ shards: 2, lease: '3s', store });
  });

  afterEach(() => cluster.stop());

  it('[P6] carries a cluster, a take-over after kill -9 included', async () => {
    const [first] = await Promise.all([cluster.engine(), cluster.worker(), cluster.worker()]);
    const client = await cluster.openClient();
    const load = await Load.start(client, 's3', 4);
    const second = await cluster.engine();
    await first.kill();
    await eventually(async () => assert.equal((await second.ask()).shards.length, 2), 30_000);
    await load.feed();
    await load.check(cluster);
  });

  it('[P5] a new owner reads a bounded part of the log again, however much was written before', async () => {
    Object.assign(process.env, s3Environment(proxy.url));
    const url = `s3://holdfast/log-${++stores}`;
    const [before, after] = [await openStore(url, { shared: true }), await openStore(url, { shared: true })];
    const shard = await before.open(0);
    for (let n = 0; n < 1_500; n++) await shard.write(new Map([[`n/${n}`, Buffer.from('small')]]));
    // Nobody has closed it.
    proxy.reads.length = 0;
    const taken = await after.open(0);
    const files = new Set(proxy.reads.filter((path) => path.includes('/wal/') && path.endsWith('.sst')));
    assert.ok(files.size > 0 && files.size < 800, `${files.size} files of the log were read`);
    assert.deepEqual(await taken.get('n/1499'), new Uint8Array(Buffer.from('small')));
    await taken.close();
    await Promise.all([shard.close(), before.close(), after.close()]);
  });

  it('[P6] a shard does not wait for long for an answer that does not come', async () => {
    Object.assign(process.env, s3Environment(proxy.url));
    const store = await openStore(`s3://holdfast/silent-${++stores}`, { shared: true });
    await (await store.open(0)).close();
    proxy.unanswered = 1;
    let opened: ShardStore | undefined;
    store.open(0).then((shard) => {
      opened = shard;
    });
    // SlateDB by itself repeats a request after 30 s.
    await eventually(() => opened !== undefined, 25_000);
    assert.equal(proxy.unanswered, 0);
    await opened!.close();
    await store.close();
  });

  const faults: [string, S3Fault[]][] = [
    ['done and its answer lost', ['lose']],
    ['409 without writing, twice in a row', [409, 409]],
    ['done and answered by 412, as a repeat would be', [412]],
    ['503 SlowDown and 500', [503, 500, 503]],
    ['slow', ['slow']],
  ];
  for (const [what, sequence] of faults) {
    it(`[C55][P7] writes that are ${what}: delayed, neither lost nor doubled, and no owner fences itself for good`, async () => {
      await Promise.all([cluster.engine(), cluster.worker()]);
      const client = await cluster.openClient();
      let puts = 0;
      let left: S3Fault[] = [];
      proxy.fault = (path, bytes) => {
        // SlateDB takes a 409 for the proof that another has written; at the mark of a new owner that leaves a gap in the log.
        if (sequence[0] === 409 && path.includes('/wal/') && bytes < 300) return undefined;
        // A burst at every twelfth write.
        if (left.length === 0 && ++puts % 12 === 0) left = [...sequence];
        return left.shift();
      };
      const load = await Load.start(client, `fault-${sequence.join('-')}`, 3);
      await load.feed();
      await load.check(cluster, false);
      assert.ok((proxy.done.get(sequence[0]!) ?? 0) > 0);
    });
  }
});
