import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { eventually } from '../support/eventually';
import type { Figures, SoakRole } from './soak-process';

/** A process of the soak, seen from its parent. */
export class SoakNode {
  readonly unhandled: string[] = [];
  isFinished = false;
  private isReady = false;
  private isPaused = false;
  private figures: Figures | undefined;
  private readonly gone: Promise<number | null>;

  private constructor(private readonly child: ChildProcess) {
    this.gone = new Promise((resolve) => child.once('exit', resolve));
    child.on('message', (message: { kind: string; figures?: Figures; reason?: string }) => {
      if (message.kind === 'ready') this.isReady = true;
      if (message.kind === 'finished') this.isFinished = true;
      if (message.kind === 'figures') this.figures = message.figures;
      if (message.kind === 'unhandled') this.unhandled.push(message.reason!);
    });
    child.on('error', () => {});
  }

  static async start(role: SoakRole): Promise<SoakNode> {
    const child = fork(join(__dirname, 'soak-process.ts'), [JSON.stringify(role)], {
      execArgv: ['--expose-gc', '--enable-source-maps', '-r', join(__dirname, '../support/register.cjs')],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const node = new SoakNode(child);
    await eventually(() => {
      if (!node.isAlive) throw new Error(`a process could not start: ${JSON.stringify(role)}`);
      return node.isReady;
    }, 120_000);
    return node;
  }

  get isAlive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** undefined from one that stands still or has died. */
  async ask(): Promise<Figures | undefined> {
    if (!this.isAlive || this.isPaused) return undefined;
    this.figures = undefined;
    this.child.send('figures');
    await eventually(() => this.figures !== undefined || !this.isAlive || this.isPaused, 20_000);
    return this.figures;
  }

  finish(): void {
    this.child.send('finish');
  }

  pause(): void {
    this.isPaused = true;
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.isPaused = false;
    this.child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    if (this.isAlive) this.child.kill('SIGKILL');
    await this.gone;
  }

  /** SIGTERM; gives the exit code. */
  async stop(): Promise<number | null> {
    if (this.isAlive) this.child.kill('SIGTERM');
    return this.gone;
  }
}
