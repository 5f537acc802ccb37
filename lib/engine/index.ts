export type { CodePage, FoundLack } from './code-check';
export type { AttributeSeen, Outcome } from './description';
export { Engine, type EngineParts } from './engine';
export type { IndexState } from './index-feed';
export { lowerTaskQueues, type TaskQueueOptions } from './queue-options';
export type { QueueState } from './queue-state';
export type {
  BriefFailure,
  ChildDescription,
  ConditionDescription,
  FailureDescription,
  LockDescription,
  RunCounts,
  RunDescription,
  StepDescription,
  TimerDescription,
} from './run-description';
export type { ScheduleDescription, ScheduleSummary } from './schedule-description';
export type { EngineSettings } from './settings';
