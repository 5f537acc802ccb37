import { HoldfastError } from '../errors';
import type { Outlet } from './outlet';
import type { Refusals } from './refusals';
import type { WritePipeline } from './write-pipeline';

export interface Asked {
  readonly id: string;
  readonly replyTo: string;
}

/**
 * The answers of a shard. A refusal goes out when its message is let go, not before: a successor that found the message would
 * do what its sender was told had not happened.
 */
export class Answers {
  constructor(
    private readonly pipeline: WritePipeline,
    private readonly outlet: Outlet,
    private readonly refusals: Refusals,
    /** Asks for a turn. */
    private readonly wake: () => void,
  ) {}

  readonly give = (asked: Asked, value: unknown): void => {
    if (!(value instanceof Error)) return this.outlet.answer(asked, value);
    this.refusals.note(asked.id, value);
    // It is said because writes take too long.
    if (value instanceof HoldfastError && value.code === 'OVERLOADED') return this.outlet.answer(asked, value);
    this.pipeline.whenDurable(this.pipeline.gathering, () => this.outlet.answer(asked, value));
    this.pipeline.hurry();
    // It may have been found out between turns.
    this.wake();
  };
}
