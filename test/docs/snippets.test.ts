import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as ts from 'typescript';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder';
import { documents, isProgram, type Snippet, snippetsOf } from './snippets';

const root = join(__dirname, '../..');
const run = promisify(execFile);

describe('snippets of the documentation', function () {
  this.timeout(120_000);
  const snippets = documents().flatMap(snippetsOf);
  let folder: TemporaryFolder;

  const fileOf = (snippet: Snippet) => join(folder.path, `${snippet.where.replace(/\W+/g, '-')}.ts`);

  before(async () => {
    folder = await temporaryFolder();
    await installHoldfast(join(folder.path, 'node_modules'));
    await writeFile(join(folder.path, 'package.json'), '{}');
    for (const snippet of snippets) await writeFile(fileOf(snippet), snippet.code);
  });
  after(() => folder.remove());

  it('are there', () => {
    assert.ok(snippets.some(({ where }) => where.startsWith('README.md')));
    assert.ok(snippets.some(isProgram));
  });

  it('compile', () => {
    const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
    const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
    const program = ts.createProgram(snippets.map(fileOf), {
      ...options,
      rootDir: undefined,
      noEmit: true,
      typeRoots: [join(root, 'node_modules/@types')],
      // A snippet may declare what another one uses.
      noUnusedLocals: false,
      noUnusedParameters: false,
    });
    // Of the snippets only; the sources are checked by themselves.
    const problems = snippets.flatMap((snippet) => {
      const file = program.getSourceFile(fileOf(snippet))!;
      return ts.getPreEmitDiagnostics(program, file).map(({ start, messageText }) => {
        const { line } = file.getLineAndCharacterOfPosition(start ?? 0);
        return `${snippet.where} +${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
      });
    });
    assert.deepEqual(problems, []);
  });

  for (const snippet of snippets.filter(isProgram)) {
    it(`${snippet.where} runs`, async () => {
      // Their types have been checked; the samples run with ts-node.
      const { stdout } = await run(process.execPath, ['-r', join(root, 'test/support/register.cjs'), fileOf(snippet)], {
        cwd: folder.path,
        timeout: 60_000,
      });
      if (snippet.output !== undefined) assert.equal(stdout, snippet.output);
    });
  }
});

/** This project's sources as the package that the snippets import. */
async function installHoldfast(modules: string): Promise<void> {
  const folder = join(modules, 'holdfast');
  await mkdir(folder, { recursive: true });
  const index = JSON.stringify(join(root, 'index'));
  await writeFile(join(folder, 'index.js'), `module.exports = require(${index});\n`);
  await writeFile(join(folder, 'index.d.ts'), `export * from ${index};\n`);
  for (const part of ['testing', 'cluster']) {
    const entry = JSON.stringify(join(root, 'lib', part, 'index'));
    await writeFile(join(folder, `${part}.js`), `module.exports = require(${entry});\n`);
    await writeFile(join(folder, `${part}.d.ts`), `export * from ${entry};\n`);
  }
  await symlink(join(root, 'node_modules/inversify'), join(modules, 'inversify'));
}
