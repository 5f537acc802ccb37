import type { ChildScript } from '../workload/program';
import { showOutcome } from '../workload/seen';
import type { RunModel } from './run-model';

/** A SubFlow that was asked for durably, and what has become of it. */
export interface ChildModel {
  readonly key: string;
  readonly parent: RunModel;
  readonly flowId: string;
  /** Name of its program. */
  readonly program: string;
  readonly newRunId: string;
  /** The execution whose wait it belongs to. */
  readonly execution: string | null;
  readonly parentClose: ChildScript['parentClose'];
  readonly reuse: ChildScript['reuse'] | 'never';
  /** The first run of the chain that it began, or that it was attached to. */
  run: RunModel | undefined;
  attached: boolean;
  /** Its start was turned down. */
  refused: boolean;
  /** Its parent knows that it has started. */
  confirmed: boolean;
  /** Ways in which its parent told it to end: as its wait ended, and as it closed. */
  readonly stops: Set<'terminate' | 'cancel'>;
  /** How it ended, as its parent has saved it. */
  outcome: string | null;
}

/** All SubFlows of a simulation, by chain of the parent and key. */
export class Children {
  private readonly children = new Map<string, ChildModel>();

  add(child: ChildModel): void {
    this.children.set(`${child.parent.chainId} ${child.key}`, child);
  }

  get(chainId: string, key: string): ChildModel | undefined {
    return this.children.get(`${chainId} ${key}`);
  }

  all(): Iterable<ChildModel> {
    return this.children.values();
  }

  ofChain(chainId: string): ChildModel[] {
    return [...this.children.values()].filter(({ parent }) => parent.chainId === chainId);
  }

  /** Those that a run is, by its chain. */
  of(run: RunModel): ChildModel[] {
    return [...this.children.values()].filter((child) => child.run?.chainId === run.chainId);
  }

  /** A parent has closed: what becomes of its SubFlows by their policies (U3). */
  parentClosed(run: RunModel): void {
    for (const child of this.ofChain(run.chainId)) {
      if (child.outcome === null && !child.attached && child.parentClose !== 'abandon')
        child.stops.add(child.parentClose);
    }
  }

  /** What is still to be done for a SubFlow; undefined where nothing is (U1, U3). */
  unsettled(child: ChildModel): string | undefined {
    const { run, flowId, key, parent } = child;
    const what = `the SubFlow ${key} of ${parent.program.flowId} (${flowId})`;
    const open = parent.latest.isOpen;
    if (!run) return child.outcome === null && !(child.refused && !open) ? `${what} was never started` : undefined;
    const last = run.latest;
    if (open && !last.isOpen && child.outcome === null) return `the parent does not know that ${what} has closed`;
    if (open && !child.confirmed && child.outcome === null) return `the start of ${what} is not confirmed`;
    if (child.stops.size > 0 && !child.attached && last.isOpen) {
      return `${what} is left behind, and was to ${[...child.stops].join(' or ')}`;
    }
    return undefined;
  }
}

/** How a chain of runs ended. */
export function outcomeOf({ latest }: RunModel): string {
  return showOutcome(
    latest.status,
    latest.outputs.map(({ value }) => value),
  );
}
