import type { SimulationReport } from './report';
import { Simulation, type SimulationOptions } from './simulation';

/**
 * Runs one simulation of the whole system in virtual time: the seed decides everything, and the same seed gives the same
 * report. What is rejected and never looked at meanwhile counts as its fault. One at a time in a process. Never rejects.
 */
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
