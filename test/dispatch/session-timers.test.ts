import assert from 'node:assert/strict';
import { Flow, Rpc } from '../../index';
import { Client } from '../../lib/client';
import { compile } from '../../lib/compiler';
import { MemoryDispatch } from '../../lib/dispatch/memory-dispatch';
import { idsBy } from '../../lib/embedded/system-ids';
import { Engine } from '../../lib/engine';
import type { Leases } from '../../lib/ports';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { CountingClock } from '../support/counting-clock';
import { MovableClock } from '../support/movable-clock';
import { turns } from '../support/turns';

@Flow()
class OnceFlow {
  @Rpc()
  go() {}
}

const logger = { debug() {}, info() {}, warn() {}, error() {} };

const leases: Leases = {
  tend: async () => ({ held: [0], excess: 0 }),
  release: async () => {},
  leave: async () => {},
  onReleased: () => () => {},
};

describe('An engine whose lease has run out', () => {
  it('[X10] [P5] is held up by no timer when it stops, wherever in a turn that came to light', async () => {
    const host = new MovableClock();
    const clock = new CountingClock(host);
    const dispatch = new MemoryDispatch();
    const common = { compiled: compile([OnceFlow]), dispatch, clock, logger, shards: 1 };
    const sharing = { engine: 'engine', leases, leaseMs: 1_000_000 };
    const engine = new Engine({ ...common, store: new MemoryStateStore(), sharing });
    await engine.open();
    const client = new Client({ ...common, process: 'client', ids: idsBy(clock) });
    await client.open();
    await client.start(OnceFlow, 'first');
    // Nobody has looked at the lease yet when the next turn begins.
    host.setWall(2_000_000);
    client.start(OnceFlow, 'second').catch(() => {});
    await turns(20);
    client.close();
    await engine.close();
    assert.equal(clock.timers, 0);
  });
});
