import { ok, throws } from 'node:assert';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CompileError, check, compile, formatFindings } from '../../lib/compiler';
import { matchSnapshot } from './snapshot';

const folder = join(__dirname, 'wrong-flows');

/** Contract rules and field cases that a wrong Flow is about, for the titles. */
const about: Record<string, string> = {
  'bad-durations': '[W6] [C19] ',
  'bad-names': '[F1] ',
  'circular-import': '[C68] ',
  'circular-statics': '[C68] ',
  'duplicate-flows': '[F1] ',
  'duplicate-steps': '[F1] ',
  'index-conflict': '[A4] ',
  'inherited-constructor': '[C66] ',
  'minified-names': '[F1] [C64] ',
  'several-start-steps': '[F2] ',
  'timeout-handlers': '[F7] ',
  'unknown-values': '[C36] ',
  'wrong-base': '[A1] ',
  'wrong-locks': '[L1] ',
  'wrong-validators': '[R4] ',
};

describe('wrongly declared Flows', () => {
  const names = readdirSync(folder)
    .map((file) => file.replace(/\.ts$/, ''))
    .filter((name) => name !== 'circular-import-late');

  for (const name of names) {
    it(`${about[name] ?? ''}${name}: is refused with all that is wrong`, () => {
      const { flows } = require(join(folder, name)) as { flows: readonly any[] };
      const findings = check(flows);
      ok(findings.length > 0);
      throws(
        () => compile(flows),
        (error: unknown) => {
          ok(error instanceof CompileError);
          ok(error.code === 'COMPILE_FAILED' && error.findings.length === findings.length);
          return error.message.includes(formatFindings(findings));
        },
      );
      matchSnapshot(`wrong-flows/${name}`, `${formatFindings(findings)}\n`);
    });
  }
});
