import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as ts from 'typescript';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder';

const root = join(__dirname, '../..');
const run = promisify(execFile);

const consumer = `import { Flow, gracefulComplete, Holdfast, Step } from 'holdfast';

@Step()
class AddStep {
  execute(numbers: number[]) {
    return gracefulComplete(numbers.reduce((sum, number) => sum + number, 0));
  }
}

@Flow()
class SumFlow {
  static readonly start = AddStep;
}

async function main() {
  const holdfast = await Holdfast.open({ flows: [SumFlow], store: 'memory:' });
  await holdfast.client.start(SumFlow, 's-1', [1, 2, 3]);
  const sum: number = await holdfast.client.result(SumFlow, 's-1');
  console.log(sum);
  await holdfast.close();
}

main();
`;

describe('the package as it is built', function () {
  this.timeout(120_000);
  let folder: TemporaryFolder;

  before(async function () {
    // `npm run build` comes before the tests in `npm test`.
    if (!existsSync(join(root, 'dist/index.js'))) return this.skip();
    folder = await temporaryFolder();
    await mkdir(join(folder.path, 'node_modules'));
    await symlink(root, join(folder.path, 'node_modules/holdfast'));
    await writeFile(join(folder.path, 'package.json'), '{}');
  });
  after(() => folder?.remove());

  for (const [kind, extension] of [
    ['CommonJS', 'cts'],
    ['ESM', 'mts'],
  ] as const) {
    it(`is compiled against and run from ${kind}`, async () => {
      const source = join(folder.path, `consumer.${extension}`);
      await writeFile(source, consumer);
      const program = ts.createProgram([source], {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.NodeNext,
        strict: true,
        experimentalDecorators: true,
        emitDecoratorMetadata: true,
        types: ['node'],
        typeRoots: [join(root, 'node_modules/@types')],
      });
      const problems = ts.getPreEmitDiagnostics(program).map(({ messageText }) => messageText);
      assert.deepEqual(problems, []);
      program.emit();
      const { stdout } = await run(process.execPath, [source.replace(/ts$/, 'js')]);
      assert.equal(stdout, '6\n');
    });
  }

  it('is locked without addresses of a registry, and its dependencies are exact', async () => {
    const lock = await readFile(join(root, 'package-lock.json'), 'utf8');
    assert.ok(!lock.includes('"resolved"'));
    const { dependencies, optionalDependencies, devDependencies } = JSON.parse(
      await readFile(join(root, 'package.json'), 'utf8'),
    );
    for (const [name, version] of Object.entries({ ...dependencies, ...optionalDependencies, ...devDependencies })) {
      assert.match(String(version), /^\d+\.\d+\.\d+$/, name);
    }
  });
});
