export { type FaultKind, faultKinds } from './faults';
export { digestOf, type SimulationReport, type Violation } from './report';
export { Simulation, type SimulationOptions } from './simulation';
