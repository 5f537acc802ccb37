import { type CallMark, isCall } from '../metadata';
import { checkAliases, checkText, checkUnique } from './check-names';
import type { FlowDraft } from './collect';
import type { Report } from './finding';
import { suggest } from './nearest';

/** The client's proxy answers these by itself, so that it can be awaited and printed. */
const kept = ['then', 'toJSON', 'constructor'];

/** Marked methods of a Flow: RPCs, Queries, validators and the handler of the time-out. */
export function checkMembers(flow: FlowDraft, report: Report): void {
  const { type, members } = flow;
  const calls = members.filter(isCall);
  for (const method of new Set(calls.map((mark) => mark.method))) {
    const marks = calls.filter((mark) => mark.method === method);
    const where = `${type.name}.${String(method)}`;
    if (marks.length > 1) {
      const found = marks.map((mark) => (mark.kind === 'rpc' ? '@Rpc' : '@Query')).join(' and ');
      const expected = 'one of @Rpc, which may write, and @Query, which may not';
      report({ code: 'DOUBLE_MARK', where, found, expected, fix: 'Keep one of them.' });
    }
    checkMethodName(method, where, report);
    for (const mark of marks) {
      if (mark.options?.name !== undefined) {
        checkText(mark.options.name, `${where} name`, 'Give another name, or none to take that of the method.', report);
      }
      checkAliases(mark.options?.aliases, where, report);
    }
  }
  checkUnique(
    type.name,
    'RPCs and Queries',
    firstOfEach(calls).map((mark) => ({
      name: mark.options?.name ?? String(mark.method),
      type: { name: String(mark.method) },
      record: mark,
    })),
    report,
  );
  checkValidators(flow, calls, report);
  const handlers = members.filter((mark) => mark.kind === 'onTimeout');
  const timeoutWhere = `${type.name} @Flow onTimeout`;
  if (handlers.length > 1) {
    const found = `${handlers.length} methods marked @OnTimeout: ${handlers.map((mark) => String(mark.method)).join(', ')}`;
    report({
      code: 'TIMEOUT_HANDLER',
      where: type.name,
      found,
      expected: 'at most one (F7)',
      fix: 'Keep one of them.',
    });
  }
  const policy = flow.record?.options?.onTimeout;
  if (policy === 'handler' && handlers.length === 0) {
    report({
      code: 'TIMEOUT_HANDLER',
      where: timeoutWhere,
      found: "'handler', and no method marked @OnTimeout",
      expected: 'a method that decides what happens at the deadline (F7)',
      fix: 'Mark a protected method with @OnTimeout(), or choose fail or cancel.',
    });
  }
  if ((policy === 'fail' || policy === 'cancel') && handlers.length > 0) {
    report({
      code: 'TIMEOUT_HANDLER',
      where: timeoutWhere,
      found: `'${policy}', and the method ${String(handlers[0].method)} marked @OnTimeout, which would never run`,
      expected: "'handler', or no such method",
      fix: 'Leave onTimeout out, or remove the method.',
    });
  }
}

/** Two marks on one method are reported as such, not as two names. */
function firstOfEach(calls: readonly CallMark[]): readonly CallMark[] {
  return calls.filter((mark, index) => calls.findIndex((other) => other.method === mark.method) === index);
}

function checkMethodName(method: string | symbol, where: string, report: Report): void {
  if (typeof method === 'string' && !kept.includes(method)) return;
  report({
    code: 'BAD_NAME',
    where,
    found: typeof method === 'symbol' ? 'a method named by a symbol' : `a method named ${method}`,
    expected: `a method that clients can call by its name; not ${kept.join(', ')}`,
    fix: 'Rename the method.',
  });
}

function checkValidators(flow: FlowDraft, calls: readonly CallMark[], report: Report): void {
  const validators = flow.members.flatMap((mark) => (mark.kind === 'validator' ? [mark] : []));
  for (const rpc of new Set(validators.map((mark) => mark.rpc))) {
    const own = validators.filter((mark) => mark.rpc === rpc);
    const where = `${flow.type.name}.${String(own[0].method)} @Validate`;
    const target = calls.find((mark) => mark.method === rpc);
    if (target?.kind !== 'rpc') {
      const rpcs = calls.filter((mark) => mark.kind === 'rpc').map((mark) => String(mark.method));
      report({
        code: 'UNKNOWN_RPC',
        where,
        found: target ? `'${rpc}', which is a @Query and writes nothing` : `'${rpc}', which is no method marked @Rpc`,
        expected: rpcs.length > 0 ? `one of the RPCs ${rpcs.join(', ')}` : 'the name of a method marked @Rpc',
        fix: suggest(rpc, rpcs, 'Name the method that the validator is for.'),
      });
    }
    if (own.length > 1) {
      report({
        code: 'DOUBLE_MARK',
        where: flow.type.name,
        found: `${own.length} validators for '${rpc}': ${own.map((mark) => String(mark.method)).join(', ')}`,
        expected: 'at most one validator for an RPC',
        fix: 'Call one from the other, and mark only that one.',
      });
    }
  }
}
