export type { Failure } from './failure';
