import { build } from 'esbuild';
import ts from 'typescript';
import * as holdfast from '../../../index';

/** Files of a small program, by name. */
export type Files = Readonly<Record<string, string>>;

/** Makes a program of source files and gives what its entry exports. */
export type Builder = (files: Files, entry: string) => Promise<Record<string, any>>;

const targets = { ES2020: ts.ScriptTarget.ES2020, ES2022: ts.ScriptTarget.ES2022, ESNext: ts.ScriptTarget.ESNext };

/** tsc, each file by itself, loaded as CommonJS. */
function tsc(options: ts.CompilerOptions): Builder {
  return async (files, entry) => {
    const loaded = new Map<string, { exports: Record<string, any> }>();
    const load = (name: string): Record<string, any> => {
      if (name === 'holdfast') return holdfast;
      const known = loaded.get(name);
      if (known) return known.exports;
      const module = { exports: {} };
      loaded.set(name, module);
      const compilerOptions = { ...options, module: ts.ModuleKind.CommonJS, experimentalDecorators: true };
      run(ts.transpileModule(files[name]!, { compilerOptions }).outputText, module, load);
      return module.exports;
    };
    return load(entry);
  };
}

/** esbuild: one bundle, which knows no design types. */
function bundle({ minify, useDefineForClassFields }: { minify: boolean; useDefineForClassFields: boolean }): Builder {
  return async (files, entry) => {
    const compilerOptions = { experimentalDecorators: true, useDefineForClassFields };
    const { outputFiles } = await build({
      stdin: { contents: files[entry]!, loader: 'ts', sourcefile: `${entry}.ts`, resolveDir: '.' },
      bundle: true,
      write: false,
      format: 'cjs',
      platform: 'node',
      minify,
      external: ['holdfast'],
      tsconfigRaw: { compilerOptions },
      plugins: [
        {
          name: 'files',
          setup({ onResolve, onLoad }) {
            onResolve({ filter: /^\.\// }, ({ path }) => ({ path, namespace: 'files' }));
            onLoad({ filter: /.*/, namespace: 'files' }, ({ path }) => ({ contents: files[path]!, loader: 'ts' }));
          },
        },
      ],
    });
    const module = { exports: {} };
    run(outputFiles[0]!.text, module, () => holdfast);
    return module.exports;
  };
}

function run(code: string, module: { exports: object }, load: (name: string) => object): void {
  new Function('require', 'module', 'exports', code)(load, module, module.exports);
}

/** Every way to build that is tried, by name. */
export const builders: Readonly<Record<string, Builder>> = {
  ...Object.fromEntries(
    Object.entries(targets).flatMap(([name, target]) =>
      [true, false].flatMap((useDefineForClassFields) =>
        [true, false].map((emitDecoratorMetadata) => [
          `tsc ${name}, useDefineForClassFields ${useDefineForClassFields}, emitDecoratorMetadata ${emitDecoratorMetadata}`,
          tsc({ target, useDefineForClassFields, emitDecoratorMetadata }),
        ]),
      ),
    ),
  ),
  'esbuild, useDefineForClassFields true': bundle({ minify: false, useDefineForClassFields: true }),
  'esbuild, useDefineForClassFields false': bundle({ minify: false, useDefineForClassFields: false }),
  'esbuild, minified': bundle({ minify: true, useDefineForClassFields: false }),
};
