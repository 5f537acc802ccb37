import { appendFileSync, closeSync, openSync, readSync } from 'node:fs';
import type { StepContext } from '../../index';

/** What the body of a method did, as one line of a file that outlives every process. */
export interface Line {
  readonly at: number;
  readonly pid: number;
  readonly flowId: string;
  readonly execution: string;
  readonly attempt: number;
  readonly key: string;
  readonly what: 'begin' | 'end' | 'throw' | 'effect' | 'beat' | 'resume';
  readonly value?: unknown;
}

export function note(ctx: StepContext, what: Line['what'], value?: unknown): void {
  const file = process.env.HOLDFAST_EFFECTS;
  if (!file) return;
  const { flowId, stepExecutionId: execution, attempt, idempotencyKey: key } = ctx;
  const line: Line = { at: Date.now(), pid: process.pid, flowId, execution, attempt, key, what, value };
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

/** Counts the beginning and the end of a body, and its effect on the world in between. */
export async function counted<T>(ctx: StepContext, body: () => Promise<T> | T): Promise<T> {
  note(ctx, 'begin');
  try {
    const result = await body();
    note(ctx, 'effect');
    note(ctx, 'end');
    return result;
  } catch (error) {
    note(ctx, 'throw');
    throw error;
  }
}

/** Reads the counters, of which a round sees what was written since the one before. */
export class Outside {
  private readonly descriptor: number;
  private position = 0;
  private rest = '';
  private lines: Line[] = [];

  constructor(file: string) {
    this.descriptor = openSync(file, 'r');
  }

  /** All lines since `forget`. */
  read(): readonly Line[] {
    const buffer = Buffer.alloc(64 * 1024);
    for (;;) {
      const length = readSync(this.descriptor, buffer, 0, buffer.length, this.position);
      if (length === 0) return this.lines;
      this.position += length;
      // Lines are ASCII, so that no character is cut in two.
      const parts = (this.rest + buffer.toString('latin1', 0, length)).split('\n');
      this.rest = parts.pop()!;
      for (const part of parts) this.lines.push(JSON.parse(part) as Line);
    }
  }

  forget(): void {
    this.read();
    this.lines = [];
  }

  /** Bodies that have begun and neither ended nor thrown, on the given process or on any. */
  open(pid?: number): Line[] {
    const open = new Map<string, Line>();
    for (const line of this.read()) {
      if (pid !== undefined && line.pid !== pid) continue;
      const body = `${line.pid} ${line.key} ${line.attempt}`;
      if (line.what === 'begin') open.set(body, line);
      if (line.what === 'end' || line.what === 'throw') open.delete(body);
    }
    return [...open.values()];
  }

  close(): void {
    closeSync(this.descriptor);
  }
}
