export { type SettleOptions, TestEnvironment, type TestEnvironmentOptions } from './test-environment';
