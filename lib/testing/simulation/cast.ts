import { Client } from '../../client';
import { compile } from '../../compiler';
import { Engine } from '../../engine';
import type { HoldfastError } from '../../errors';
import type { Logger } from '../../ports';
import { Worker } from '../../worker';
import { type Errand, isWorthRepeating } from './client-work';
import type { Disk } from './disk';
import type { Random } from './random';
import { SimDispatch } from './sim-dispatch';
import { LeaseTable, SimLeases } from './sim-leases';
import { type ProcessParts, SimProcess } from './sim-process';
import { SimStateStore, type StoreSpeed } from './sim-store';
import { Switchboard } from './switchboard';
import { flows } from './workload/flows';
import type { Journal } from './workload/journal';
import type { Programs } from './workload/program';
import { SimResolver } from './workload/sim-resolver';

const compiled = compile(Object.values(flows));
const leaseMs = 8_000;
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * `embedded`: engine, worker and client share a process. `cluster`: each is its own, and engines own shards by lease.
 * `fenced`: each is its own, and only the store's fence keeps a stale engine from doing harm.
 */
export type Layout = 'embedded' | 'cluster' | 'fenced';

export interface CastSettings {
  readonly layout: Layout;
  readonly engines: number;
  readonly shards: number;
  readonly workers: number;
  readonly clients: number;
  readonly slots: number;
  readonly idleFlowsInMemory: number;
  readonly writeTimeoutMs: number;
  readonly speed: StoreSpeed;
}

export interface EngineRole {
  readonly process: SimProcess;
  readonly engine: Engine;
  isFenced: boolean;
  isClosing: boolean;
}

/** All processes there are and were, and the supervisor that replaces those that have ended or stand still. */
export class Cast {
  readonly processes = new Map<string, SimProcess>();
  readonly engines: EngineRole[] = [];
  readonly workers: { readonly process: SimProcess; readonly worker: Worker }[] = [];
  readonly clients: { readonly process: SimProcess; readonly client: Client }[] = [];
  private started = 0;
  private readonly leases = new LeaseTable();

  constructor(
    private readonly parts: ProcessParts,
    private readonly disk: Disk,
    private readonly board: Switchboard,
    readonly settings: CastSettings,
    private readonly random: Random,
    private readonly journal: Journal,
    private readonly programs: Programs,
    private readonly errands: readonly Errand[],
  ) {}

  begin(): void {
    if (this.settings.layout === 'embedded') this.startNode();
    else {
      this.fillEngines();
      for (let i = 0; i < this.settings.workers; i++) this.startWorker(this.process('worker'), this.board);
      for (let i = 0; i < this.settings.clients; i++) this.startClient(this.process('client'), this.board);
    }
    for (const errand of this.errands) this.parts.timeline.after(errand.atMs, () => this.assign(errand));
  }

  /** Lets everything run again and makes up for what is missing. Some that stand still wake up long after. */
  heal(): void {
    // Nobody can take an embedded store over from a process that stands still.
    const wakesAll = this.random.chance(0.7) || this.settings.layout === 'embedded';
    for (const process of this.processes.values()) {
      process.cut.dispatch = false;
      process.cut.store = false;
      if (wakesAll) process.resume();
    }
    this.board.wakeReaders();
    this.fillEngines();
  }

  /** Everything that waits in the network is lost, leases too. */
  emptyDispatch(): void {
    this.board.empty();
    this.leases.empty();
  }

  living(kind: SimProcess['kind']): SimProcess[] {
    return [...this.processes.values()].filter((process) => process.kind === kind && process.runs);
  }

  /** Who holds the lease of a shard, where engines share shards. */
  holderOf(shard: number): string | undefined {
    const lease = this.leases.leases.get(shard);
    return lease && lease.until > this.parts.timeline.now ? lease.holder : undefined;
  }

  /** By the name under which a worker or client is known to engines. */
  named(name: string): SimProcess | undefined {
    return this.processes.get(name.split(':')[0]!);
  }

  drainWorker(): void {
    const role = this.random.pick(this.workers.filter(({ process }) => process.runs));
    role?.process.enter(() => {
      role.worker.close().then(
        () => role.process.kill('when it has drained'),
        () => role.process.kill('while it drained'),
      );
    });
  }

  closeEngine(): void {
    const role = this.engines.find(({ process, isFenced }) => process.runs && !isFenced);
    if (!role || role.isClosing) return;
    role.isClosing = true;
    role.process.enter(() => {
      role.engine.close().then(
        () => role.process.kill('when it has closed'),
        () => role.process.kill('while it closed'),
      );
    });
  }

  /** Engine, worker and client in one process, which come and go together. */
  private startNode(): void {
    const process = this.process('engine');
    const { encodes } = this.board.settings;
    const board = new Switchboard(
      this.parts.timeline,
      { encodes, tellsGone: true, isInProcess: true },
      this.board.watch,
    );
    process.onEnd(() => board.end(process));
    this.startEngine(process, board);
    this.startWorker(process, board);
    this.startClient(process, board);
  }

  private fillEngines(): void {
    const { layout, engines } = this.settings;
    const working = this.engines.filter(({ process, isFenced, isClosing }) => process.runs && !isFenced && !isClosing);
    if (layout === 'embedded') {
      if (this.engines.every(({ process }) => process.isDead)) this.startNode();
      return;
    }
    for (let i = working.length; i < engines; i++) this.startEngine(this.process('engine'), this.board);
  }

  private startEngine(process: SimProcess, board: Switchboard): void {
    const { shards, idleFlowsInMemory, writeTimeoutMs, speed, layout } = this.settings;
    const parts = {
      store: new SimStateStore(this.disk, process, speed),
      dispatch: new SimDispatch(board, process),
      clock: process.clock,
      logger: this.logger(process),
      settings: { shards, idleFlowsInMemory, writeTimeoutMs },
    };
    const leases = new SimLeases(this.leases, board, process);
    const engine = new Engine(
      layout === 'cluster'
        ? { ...parts, sharing: { engine: process.name, leases, leaseMs } }
        : { ...parts, onFenced: (error) => this.fenced(role, error) },
    );
    const role: EngineRole = { process, engine, isFenced: false, isClosing: false };
    this.engines.push(role);
    process.onEnd(() => this.later(() => this.fillEngines()));
    // The lock on an embedded store keeps others out for as long as its process lives.
    process.onPause(() => {
      if (layout !== 'embedded' && this.random.chance(0.7)) this.later(() => this.fillEngines());
    });
    process.onResume(() => this.endReplaced());
    process.enter(() => {
      role.engine.open().catch((error) => process.kill(`because it could not open: ${error.message}`));
    });
  }

  /** Without leases an engine that has nothing to write would never notice that it was replaced: it is ended in time. */
  private endReplaced(): void {
    if (this.settings.layout !== 'fenced') return;
    this.parts.timeline.after(this.random.magnitude(1, 30_000), () => {
      for (const { process } of this.engines) {
        const owns = (shard: number) => this.disk.shard(shard).owner === process;
        if (!Array.from({ length: this.settings.shards }, (_, shard) => shard).every(owns)) process.kill('as replaced');
      }
    });
  }

  /** One of its shards was taken over: it is of no more use. */
  private fenced(role: EngineRole, error: HoldfastError): void {
    this.parts.note(role.process, `is fenced: ${error.message}`);
    role.isFenced = true;
    role.engine.close().finally(() => role.process.kill('because it was fenced'));
  }

  private startWorker(process: SimProcess, board: Switchboard): void {
    const resolver = new SimResolver(process, this.journal, this.programs);
    const dispatch = new SimDispatch(board, process, (message) => {
      resolver.task = message && 'task' in message ? message.task : undefined;
    });
    const { shards, slots, layout } = this.settings;
    const name = process.kind === 'worker' ? process.name : `${process.name}:worker`;
    const worker = new Worker({
      ...{ compiled, clock: process.clock, logger: this.logger(process), shards, process: name, dispatch, resolver },
      standing: layout === 'embedded',
      guards: false,
      settings: { slots, graceMs: 2_000, abortMs: 500 },
    });
    this.workers.push({ process, worker });
    if (process.kind === 'worker') {
      process.onEnd(() => this.later(() => this.startWorker(this.process('worker'), board)));
    }
    process.enter(() => {
      worker.open().catch((error) => process.kill(`because it could not open: ${error.message}`));
    });
  }

  private startClient(process: SimProcess, board: Switchboard): void {
    const dispatch = new SimDispatch(board, process);
    const { clock, ids } = process;
    const { shards } = this.settings;
    const name = process.kind === 'client' ? process.name : `${process.name}:client`;
    const client = new Client({ process: name, compiled, dispatch, clock, ids, shards });
    const role = { process, client };
    process.onEnd(() => this.later(() => this.reassign(process)));
    if (process.kind === 'client') {
      process.onEnd(() => this.later(() => this.startClient(this.process('client'), board)));
    }
    process.enter(() => {
      client.open().then(
        () => void this.clients.push(role),
        (error) => process.kill(`because it could not open: ${error.message}`),
      );
    });
  }

  private readonly assigned = new Map<Errand, SimProcess>();

  private reassign(from: SimProcess): void {
    for (const errand of this.errands) {
      if (!errand.isDone && this.assigned.get(errand) === from) this.assign(errand);
    }
  }

  /** Gives an errand to a client; when that dies, the next one takes it over. */
  assign(errand: Errand): void {
    const living = this.clients.filter(({ process }) => !process.isDead);
    const role = living.length > 0 ? this.random.pick(living) : undefined;
    if (!role) {
      this.parts.timeline.after(1_000, () => errand.isDone || this.assign(errand));
      return;
    }
    this.assigned.set(errand, role.process);
    role.process.enter(() => this.attempt(errand, role));
  }

  private attempt(errand: Errand, role: { process: SimProcess; client: Client }): void {
    const done = (how: string) => {
      this.parts.note(role.process, `${errand.name}: ${how}`);
      errand.isDone = true;
    };
    errand.run(role.client).then(
      () => done('done'),
      (error) => {
        if (!isWorthRepeating(error)) return done(error.code ?? String(error));
        this.parts.note(role.process, `${errand.name}: ${error.code}, again`);
        role.process.later(500, () => this.attempt(errand, role));
      },
    );
  }

  private process(kind: SimProcess['kind']): SimProcess {
    const process = new SimProcess(`${kind}-${++this.started}`, kind, { ...this.parts, random: this.random.fork() });
    this.processes.set(process.name, process);
    process.onEnd(() => this.board.end(process));
    return process;
  }

  private later(replace: () => void): void {
    this.parts.timeline.after(this.random.magnitude(5, 8_000), replace);
  }

  private logger(process: SimProcess): Logger {
    const note = (message: string, fields: Record<string, unknown> = {}) => {
      const { error } = fields;
      this.parts.note(process, `${message} ${error instanceof Error ? error.message : ''}`);
    };
    return { ...silent, warn: note, error: note };
  }
}
