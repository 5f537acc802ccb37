import type { StepOverrides } from '../plan';
import type { Failure } from '../values';
import type { ChildRequest } from './child';
import type { DecisionKind, Staged } from './event';
import type { Address, Payload } from './payload';

/** What became of an attempt, as its worker reports it. */
export type Outcome = Waited | Decided | Failed | Returned;

export interface Waited {
  readonly kind: 'waited';
  readonly staged: Staged;
  readonly conditions: readonly ConditionRequest[];
  readonly candidates: readonly (readonly number[])[];
}

export type ConditionRequest =
  | {
      readonly kind: 'channel';
      readonly id: string | null;
      readonly address: Address;
      readonly min: number;
      readonly max: number | null;
    }
  | { readonly kind: 'timer'; readonly id: string | null; readonly afterMs: number }
  | { readonly kind: 'timer'; readonly id: string | null; readonly atMs: number }
  | {
      readonly kind: 'subFlow';
      readonly id: string | null;
      readonly child: ChildRequest;
      readonly cancelWithWait: boolean;
    };

export interface Decided {
  readonly kind: 'decided';
  readonly staged: Staged;
  readonly decision: DecisionRequest;
}

export interface DecisionRequest {
  readonly kind: DecisionKind;
  readonly movements: readonly MovementRequest[];
  readonly output?: Payload;
  /** Why, for `forceFail`. */
  readonly failure?: Failure;
  /** For `completeIfEmpty`: names of Channels. */
  readonly channels?: readonly string[];
  /** For `continueAsNew`. */
  readonly next?: ContinueRequest;
  readonly cancels?: { readonly steps: readonly string[]; readonly siblingsOnly: boolean };
}

export interface ContinueRequest {
  /** Of the start Step. */
  readonly input: Payload | null;
  /** Names of the Attributes that go along; null: all. */
  readonly keep: readonly string[] | null;
}

export interface MovementRequest {
  readonly step: string;
  readonly input: Payload | null;
  readonly overrides: StepOverrides | null;
}

export interface Failed {
  readonly kind: 'failed';
  readonly failure: Failure;
  /** The call broke a rule of the definition: it is not retried (S8). */
  readonly definition: boolean;
  /** From `retryAfter`: the delay of the next attempt. */
  readonly retryAfterMs: number | null;
  /** Value of the attempt's last heartbeat, null for one without; absent if it gave none (X3). */
  readonly heartbeat?: Payload | null;
}

/** The worker gives the task back, unrun or because it is closing; no attempt is used (X6). */
export interface Returned {
  readonly kind: 'returned';
  /** Whether the handler was entered. */
  readonly entered: boolean;
  readonly heartbeat?: Payload | null;
}
