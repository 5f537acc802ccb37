import { Simulation, type SimulationOptions, type SimulationReport } from '../../lib/testing/simulation';

/** Runs one simulation; what is rejected and never looked at meanwhile counts as its fault. One at a time. */
export async function runSeed(options: SimulationOptions): Promise<SimulationReport> {
  const simulation = new Simulation(options);
  const onRejection = (error: unknown) => simulation.uncaught(error);
  const others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', onRejection);
  try {
    return await simulation.run();
  } finally {
    process.removeListener('unhandledRejection', onRejection);
    for (const other of others) process.on('unhandledRejection', other);
  }
}
