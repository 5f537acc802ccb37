export { runSeed, type SimulationOptions, type SimulationReport, type Violation } from './simulation';
export { type SettleOptions, TestEnvironment, type TestEnvironmentOptions } from './test-environment';
