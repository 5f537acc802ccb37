import type { FaultKind } from './faults';
import type { SimulationReport } from './report';
import type { SimulationOptions } from './simulation';

/** Fewer faults and flows with which a seed still breaks something. */
export interface Shrunk {
  readonly options: SimulationOptions;
  readonly report: SimulationReport;
}

/** Leaves out what a violation does not need: later faults, kinds of fault, flows. `run` runs a simulation. */
export async function shrink(
  found: SimulationReport,
  run: (options: SimulationOptions) => Promise<SimulationReport>,
): Promise<Shrunk> {
  let best: Shrunk = { options: { seed: found.seed }, report: found };
  const attempt = async (change: Partial<SimulationOptions>) => {
    const options = { ...best.options, ...change };
    const report = await run(options);
    if (!report.violation) return false;
    best = { options, report };
    return true;
  };
  for (let flows = 1; flows < found.flows; flows++) if (await attempt({ flows })) break;
  await fewestFaults(best.report.struck, (atMost) => attempt({ atMost }));
  for (const kind of [...best.report.faults.keys()]) {
    const without: ReadonlySet<FaultKind> = new Set([...(best.options.without ?? []), kind]);
    await attempt({ without });
  }
  await fewestFaults(best.report.struck, (atMost) => attempt({ atMost }));
  return best;
}

/** The first faults are kept: what follows from them stays as it was. */
async function fewestFaults(struck: number, stillBreaks: (atMost: number) => Promise<boolean>): Promise<void> {
  let [low, high] = [0, struck];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (await stillBreaks(middle)) high = middle;
    else low = middle + 1;
  }
}
