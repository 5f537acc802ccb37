import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../..');

let compiled: string | undefined;

/** A folder with the project as JavaScript, so that a child that is killed soon gets to do something first. */
export function compiledProject(): string {
  compiled ??= compile();
  return compiled;
}

function compile(): string {
  // Inside the project, so that packages are found.
  const folder = mkdtempSync(join(root, 'node_modules/.holdfast-faults-'));
  const config = join(folder, 'tsconfig.json');
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { rootDir: root, outDir: folder, noCheck: true, declaration: false, sourceMap: false },
      files: [
        join(root, 'test/faults/load.ts'),
        join(root, 'test/faults/senders.ts'),
        join(root, 'samples/order/main.ts'),
      ],
      include: [],
    }),
  );
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', config], { stdio: 'inherit' });
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
