export { check, compile } from './compile';
export { CompileError } from './compile-error';
export type { AttributeBinding, ChannelBinding, Compiled, CompiledFlow, RpcBinding } from './compiled';
export { type Finding, type FindingCode, formatFindings } from './finding';
export { lowerOverrides } from './overrides';
