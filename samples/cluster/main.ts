/**
 * Two engines, three workers and a client, each a process of its own over one Redis and one store. While 40 depots weigh
 * 400 parcels, an engine and a worker are killed, and a new one of each comes up. Needs redis-server, and starts its own.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openClient } from '../../lib/cluster';
import { DepotFlow, Parcels } from './flows';

const port = 7_379;
const redis = process.env.REDIS_URL ?? `redis://127.0.0.1:${port}`;
const folder = mkdtempSync(join(tmpdir(), 'holdfast-sample-'));
const store = `file:${folder}/state`;
const depots = 40;
const parcelsEach = 10;

const began = Date.now();
const shardsOf = new Map<string, string>();
let handled = 0;
let again = 0;

function say(what: string): void {
  console.log(`${((Date.now() - began) / 1_000).toFixed(1).padStart(5)} s  ${what}`);
}

async function machine(name: string, role: 'engine' | 'worker'): Promise<ChildProcess> {
  const child = fork(join(__dirname, 'process.ts'), [role, redis, store]);
  const ready = new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`${name} could not start`)));
    child.on('message', (message: { kind: string; shards?: number[]; attempt?: number }) => {
      if (message.kind === 'ready') resolve();
      if (message.kind === 'weighed') {
        handled++;
        if (message.attempt! > 1) again++;
      }
      if (message.kind !== 'shards') return;
      const shards = message.shards!.join(' ') || 'none';
      if (shardsOf.get(name) !== shards) say(`${name} owns the shards ${shards}`);
      shardsOf.set(name, shards);
    });
  });
  child.once('exit', () => shardsOf.delete(name));
  await ready;
  say(`${name} is up`);
  return child;
}

async function main(): Promise<void> {
  const server = process.env.REDIS_URL
    ? undefined
    : spawn('redis-server', ['--port', `${port}`, '--save', '', '--maxmemory-policy', 'noeviction'], {
        stdio: 'ignore',
      });
  server?.once('error', () => {
    console.error('This sample needs redis-server, or REDIS_URL.');
    process.exit(1);
  });
  const machines = new Map<string, ChildProcess>();
  try {
    const names = ['engine 1', 'engine 2', 'worker 1', 'worker 2', 'worker 3'];
    const up = async (name: string) =>
      machines.set(name, await machine(name, name.startsWith('engine') ? 'engine' : 'worker'));
    await Promise.all(names.map(up));
    const { client, close } = await openClient({ redis, shards: 8, namespace: 'sample', flows: [DepotFlow] }).then(
      (opened) => ({ client: opened.client, close: () => opened.close() }),
    );

    while ((shardsOf.get('engine 1') ?? 'none') === 'none') await new Promise((resolve) => setTimeout(resolve, 100));
    const ids = Array.from({ length: depots }, (_, i) => `depot-${i}`);
    await Promise.all(ids.map((id) => client.start(DepotFlow, id, parcelsEach)));
    say(`${depots} depots wait for parcels`);

    const kill = (name: string) => {
      say(`${name} is killed (kill -9)`);
      machines.get(name)!.kill('SIGKILL');
    };
    for (let parcel = 0; parcel < parcelsEach; parcel++) {
      await Promise.all(ids.map((id, i) => client.publish(DepotFlow, id, Parcels, 100 * i + parcel)));
      if (parcel === 3) kill('engine 1');
      if (parcel === 5) kill('worker 2');
      if (parcel === 6) await Promise.all([up('engine 3'), up('worker 4')]);
    }
    say(`${depots * parcelsEach} parcels are delivered`);

    const totals = await Promise.all(ids.map((id) => client.result(DepotFlow, id)));
    const expected = ids.map((_, i) => 1_000 * i + 45);
    const wrong = totals.filter((total, i) => total !== expected[i]).length;
    say(`all depots are done; ${handled} parcels were weighed, ${again} of them again after the kill`);
    const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
    say(`delivered ${sum(expected)} g, counted ${sum(totals as number[])} g, ${wrong} depots are wrong`);
    close();
    if (wrong > 0) process.exitCode = 1;
  } finally {
    await Promise.all(
      [...machines.values()].map(
        (child) =>
          new Promise<void>((resolve) => {
            if (child.exitCode !== null || child.signalCode !== null) return resolve();
            child.once('exit', () => resolve());
            child.kill('SIGKILL');
          }),
      ),
    );
    server?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

main();
