import type { ParentLink } from './child';

/** What histories say of runs that go on from others (N2, K4). */
export type ChainEvent = RunContinued | TimeTravelled | RunReplaced;

/** The next run of a chain begins with all that was open in the one before (N2). */
export interface RunContinued {
  readonly kind: 'RunContinued';
  readonly runId: string;
  readonly previousRunId: string;
  /** Names of the Attributes that go along; null: all. */
  readonly keep: readonly string[] | null;
}

/** The first event of a run that goes on from the state which an earlier run of the flowId had. */
export interface TimeTravelled {
  readonly kind: 'TimeTravelled';
  readonly runId: string;
  /** The run whose state it was, and the number of the event after which it was so. */
  readonly fromRunId: string;
  readonly fromEvent: number;
  /** The run whose place it takes. */
  readonly previousRunId: string;
  /** Chains before this one, the oldest first: by them SubFlows know their parent again. */
  readonly lines: readonly string[];
  readonly plan: string;
  readonly reason: string;
  /** It has as much time left as the Flow had then. */
  readonly deadlineAt: number | null;
  readonly parents: readonly ParentLink[];
  /** By when a worker must have taken a call that is ready again, per execution; absent: any time. */
  readonly startBy: Readonly<Record<string, number>>;
}

/** Another run goes on in place of one that had closed before. */
export interface RunReplaced {
  readonly kind: 'RunReplaced';
  readonly nextRunId: string;
}
