export type { Outcome, RunDescription, StepDescription } from './description';
export { Engine, type EngineParts } from './engine';
export { lowerTaskQueues, type TaskQueueOptions } from './queue-options';
export type { QueueState } from './queue-state';
export type { EngineSettings } from './settings';
