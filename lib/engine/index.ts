export type { Outcome, RunDescription, StepDescription } from './description';
export { Engine, type EngineParts } from './engine';
export type { EngineSettings } from './settings';
