// Loads TypeScript as ts-node does, but keeps what was transpiled: tests that start many processes spend their time on
// something else than compiling the same files again.
const { createHash } = require('node:crypto');
const { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const root = join(__dirname, '..', '..');
const folder = join(tmpdir(), 'holdfast-transpiled');
mkdirSync(folder, { recursive: true });
const config = readFileSync(join(root, 'tsconfig.json'), 'utf8');
const { version } = JSON.parse(readFileSync(join(root, 'node_modules', 'typescript', 'package.json'), 'utf8'));

require.extensions['.ts'] = (module, path) => {
  const text = readFileSync(path, 'utf8');
  const name = createHash('sha1').update(`${version}\0${config}\0${path}\0${text}`).digest('hex');
  const kept = join(folder, `${name}.js`);
  if (!existsSync(kept)) {
    const whole = `${kept}.${process.pid}`;
    writeFileSync(whole, transpile(text, path));
    renameSync(whole, kept);
  }
  module._compile(readFileSync(kept, 'utf8'), path);
};

function transpile(text, fileName) {
  const ts = require('typescript');
  const { options } = ts.convertCompilerOptionsFromJson(JSON.parse(config).compilerOptions, root);
  return ts.transpileModule(text, {
    fileName,
    compilerOptions: { ...options, sourceMap: false, inlineSourceMap: true },
  }).outputText;
}
