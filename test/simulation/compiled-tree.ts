import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const root = join(__dirname, '../..');
const parts = ['lib', 'test/simulation'];

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.CommonJS,
  esModuleInterop: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  useDefineForClassFields: false,
};

/** The library and the simulation as JavaScript in a temporary folder: a run needs no compiler, and may change the files. */
export class CompiledTree {
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-simulation-'));

  constructor() {
    for (const path of parts.flatMap(filesOf)) this.write(path, readFileSync(join(root, path), 'utf8'));
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'));
    writeFileSync(join(this.folder, 'package.json'), '{ "type": "commonjs" }');
  }

  /** The script that runs seeds in a thread. */
  get thread(): string {
    return join(this.folder, 'test/simulation/seed-thread.js');
  }

  /** Compiles `source` in place of the file of that path. */
  write(path: string, source: string): void {
    const target = join(this.folder, path.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, ts.transpileModule(source, { compilerOptions: options, fileName: path }).outputText);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  /** The source that `write` would compile. */
  source(path: string): string {
    return readFileSync(join(root, path), 'utf8');
  }
}

function filesOf(part: string): string[] {
  return readdirSync(join(root, part), { recursive: true, encoding: 'utf8' })
    .map((name) => `${part}/${name}`)
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'));
}
