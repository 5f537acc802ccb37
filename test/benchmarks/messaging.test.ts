import assert from 'node:assert/strict';
import { messagingFlows } from '../../benchmarks/messaging/flows';
import {
  measureChildren,
  measureQueries,
  measureSignals,
  measureStream,
  measureUpdates,
} from '../../benchmarks/messaging/measurements';
import { SizedStore } from '../../benchmarks/messaging/sized-store';
import { Holdfast } from '../../index';
import { openStore } from '../../lib/store/open-store';
import { eventually } from '../support/eventually';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder';

/** What `benchmarks/messaging` counts, with less of it. */
describe('Messaging, as it is measured', () => {
  let folder: TemporaryFolder;
  let store: SizedStore;
  let holdfast: Holdfast;

  before(async () => {
    folder = await temporaryFolder();
    store = new SizedStore(await openStore(`file:${folder.path}`));
    holdfast = await Holdfast.open({ flows: messagingFlows, store });
  });
  after(async () => {
    await holdfast?.close();
    await store?.close();
    await folder?.remove();
  });

  it('[R2] five queries answer, and the event count is as it was', async () => {
    const { answers, eventsBefore, eventsAfter } = await measureQueries(holdfast.client, 'queries', 5);
    assert.deepEqual(answers, [1, 1, 1, 1, 1]);
    assert.equal(eventsAfter, eventsBefore);
  });

  it('[R4] an update with −5 is rejected with its reason and leaves no event; 500 is accepted and gives the value before', async () => {
    const measured = await measureUpdates(holdfast.client, 'updates');
    assert.equal(measured.rejection.code, 'RPC_REJECTED');
    assert.equal(measured.rejection.message, 'A cap of -5 is below zero.');
    assert.equal(measured.eventsRejected, measured.eventsBefore);
    assert.equal(measured.previous, 100);
    assert.equal(measured.eventsAccepted, measured.eventsBefore + 1);
  });

  it('[U1] five children run at the same time', async () => {
    const { ended, atOnce } = await measureChildren(holdfast.client, 'children', 5, 500);
    assert.equal(ended, 5);
    assert.equal(atOnce, 5);
  });

  it('[N2] of 120 signals all are handled, and continue-as-new bounds the events of a run', async () => {
    const one = await measureSignals(holdfast.client, store, 'one run', 120, null);
    const several = await measureSignals(holdfast.client, store, 'several runs', 120, 30);
    assert.equal(one.count, 120);
    assert.equal(several.count, 120);
    assert.equal(one.runs.length, 1);
    assert.equal(several.runs.length, 4);
    const most = (runs: typeof one.runs, what: 'events' | 'bytes') => Math.max(...runs.map((run) => run[what]));
    assert.ok(most(several.runs, 'events') < most(one.runs, 'events') / 2);
    assert.ok(most(several.runs, 'bytes') < most(one.runs, 'bytes') / 2);
  });

  it('[N3] [N5] a history that rolls by itself stays short under very many signals, and so does what is live', async function () {
    this.timeout(180_000);
    const signals = 5_000;
    const historyLimit = 500;
    const terms = { signals, block: 500, inFlight: 32, historyLimit };
    const { taken, samples, events } = await measureStream(holdfast.client, store, 'stream', terms);
    assert.deepEqual(taken, { count: signals, sum: signals, inRun: signals });
    assert.ok(events > signals);
    const live = samples.map(({ liveBytes }) => liveBytes);
    assert.ok(Math.max(...live.slice(5)) < 1.5 * Math.max(...live.slice(0, 5)), `live bytes: ${live}`);
    await eventually(async () => {
      const [oldest] = await holdfast.client.history('stream', { limit: 1 });
      assert.ok(oldest!.number > events - 3 * historyLimit, `the oldest event is ${oldest!.number} of ${events}`);
      // What is due just after a look of the engine waits for the next, 30 s later.
    }, 90_000);
  });
});
