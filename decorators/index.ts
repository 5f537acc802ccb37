export { Attribute } from './attribute';
export { Channel } from './channel';
export { Flow } from './flow';
export { Lock, type LockDecorator, type LockParameter } from './lock';
export { OnTimeout } from './on-timeout';
export { Query, Rpc, Validate } from './rpc';
export { Step } from './step';
