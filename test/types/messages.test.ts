import { ok } from 'node:assert';
import { join } from 'node:path';
import ts from 'typescript';
import { matchSnapshot } from '../compiler/snapshot';

const prelude = `
import { Attribute, Channel, Flow, Lock, Rpc, Step, Validate } from '../../decorators';
import { DurableAttribute, DurableChannel, deadEnd, goTo, goToMany, gracefulComplete, Timer, to, until } from '../../lib/authoring';
import { Balance, Approvals, CountStep, RefundStep, ShipStep, NoInputStep } from './declare-flow';
interface Order { id: string; price: number; parent: null }
const order: Order = { id: 'o', price: 1, parent: null };
`;

/** What people get wrong; the compiler's own words are kept, as they are what people read. */
const snippets: Record<string, string> = {
  'an Attribute with a method in its value': `
class Money { constructor(readonly cents: bigint) {} plus(other: Money) { return other; } }
@Attribute() class Price extends DurableAttribute<{ price: Money }> {}`,
  'a Channel marked as an Attribute': `
@Attribute() class Inbox extends DurableChannel<string> {}`,
  'a Channel whose message is a promise': `
@Channel() class Answers extends DurableChannel<{ answer: Promise<string> }> {}`,
  'an unknown lock': `
@Attribute('write') class Total extends DurableAttribute<number> {}`,
  'a lock on a method parameter': `
class Runner { run(@Lock.shared balance: Balance) {} }`,
  'a Step without execute': `
@Step() class EmptyStep {}`,
  'a Step that returns its input': `
@Step() class EchoStep { async execute(input: Order) { return input; } }`,
  'a Step whose waitFor takes another input': `
@Step() class WaitStep { waitFor(n: number) { return until(Timer.after(n)); } execute(o: Order) { return deadEnd(); } }`,
  'a Step whose input is a function': `
@Step() class CallStep { execute(call: () => void) { return deadEnd(); } }`,
  'a recovery Step with another input': `
@Step({ onFailure: () => CountStep }) class RiskyStep { execute(o: Order) { return deadEnd(); } }`,
  'an inject list in another order': `
@Step({ inject: [Balance, Approvals] })
class ListedStep { constructor(readonly a: Approvals, readonly b: Balance) {} execute() { return deadEnd(); } }`,
  'an inject list that is too short': `
@Step({ inject: [Approvals] })
class ShortStep { constructor(readonly a: Approvals, readonly b: Balance) {} execute() { return deadEnd(); } }`,
  'a Flow that forgets a Step': `
@Step() class FirstStep { execute(o: Order) { return goTo(ShipStep, o); } }
@Flow() class ShortFlow { static readonly start = FirstStep; static readonly steps = [RefundStep]; }`,
  'a Flow that lists a Channel': `
@Flow() class MixedFlow { static readonly steps = [RefundStep, Approvals]; }`,
  'a validator for no RPC': `
@Flow() class CallFlow { @Rpc() approve(by: string) {} @Validate('aprove') protected check(by: string) {} }`,
  'a validator with another argument': `
@Flow() class ArgumentFlow { @Rpc() approve(by: string) {} @Validate('approve') protected check(by: number) {} }`,
  'an RPC with a function as argument': `
@Flow() class FunctionFlow { @Rpc() call(done: () => void) {} }`,
  'goTo with a wrong input': `goTo(ShipStep, 5);`,
  'goTo without its input': `goTo(ShipStep);`,
  'goTo with an input the Step does not take': `goTo(NoInputStep, order);`,
  'goToMany with nothing': `goToMany();`,
  'goToMany with a class': `goToMany(to(RefundStep, order), ShipStep);`,
  'an output that cannot be stored': `gracefulComplete({ result: { retry: () => 1 } });`,
};

describe('compile errors', () => {
  it('say why: the compiler prints what is wrong', function () {
    this.timeout(120_000);
    const files = new Map(
      Object.keys(snippets).map((title, index) => [
        join(__dirname, `snippet-${index}.ts`),
        `${prelude}${snippets[title]}\n`,
      ]),
    );
    const diagnostics = diagnose(files);
    const text = Object.keys(snippets).map((title, index) => {
      const own = diagnostics.filter((each) => each.file?.fileName.endsWith(`/snippet-${index}.ts`));
      ok(own.length > 0, `${title}: this must not compile`);
      const messages = own.map((each) => `TS${each.code}: ${ts.flattenDiagnosticMessageText(each.messageText, '\n')}`);
      return `## ${title}\n${snippets[title].trim()}\n\n${messages.join('\n\n')}\n`;
    });
    matchSnapshot('compile-errors', text.join('\n'));
  });
});

/** Errors of files that are not on the disk, under the options of the project. */
function diagnose(files: ReadonlyMap<string, string>): readonly ts.Diagnostic[] {
  const root = join(__dirname, '..', '..');
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: ['index.ts'] }, ts.sys, root);
  const settings = { ...options, noEmit: true, noUnusedLocals: false, noUnusedParameters: false };
  const host = ts.createCompilerHost(settings);
  const { readFile, fileExists } = host;
  host.readFile = (name) => files.get(name) ?? readFile(name);
  host.fileExists = (name) => files.has(name) || fileExists(name);
  const program = ts.createProgram([...files.keys()], settings, host);
  return [...files.keys()].flatMap((name) => program.getSemanticDiagnostics(program.getSourceFile(name)));
}
