export { type FaultKind, faultKinds } from './faults';
export { digestOf, type SimulationReport, type Violation } from './report';
export { runSeed } from './run-seed';
export { type Shrunk, shrink } from './shrink';
export { Simulation, type SimulationOptions } from './simulation';
