import { deepStrictEqual } from 'node:assert';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { basename, dirname, join, relative, sep } from 'node:path';
import ts from 'typescript';

// Reads the source tree and keeps it to the order that docs/architecture.md describes.

const root = join(__dirname, '..');

/** Folders of lib from the ground up; one may import what is below it or beside it. */
const layers = [
  ['errors'],
  ['values', 'plan', 'ports'],
  ['authoring'],
  ['metadata'],
  ['compiler', 'core'],
  ['store', 'dispatch'],
  ['engine', 'worker', 'client'],
];
const outermost = layers.length;
const pureFolders = ['metadata', 'compiler', 'plan', 'core'];
const adapterUsersAreNot = ['engine', 'worker', 'client'];
const adapters = /^lib\/(store\/(slate|lmdb|memory)|dispatch\/(memory|redis))/;
const mostLines = 300;

interface Import {
  /** Path from the root, or the name of a package. */
  readonly target: string;
  readonly typeOnly: boolean;
  readonly reexport: boolean;
  readonly specifier: string;
}

interface Source {
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
  readonly imports: readonly Import[];
}

const sources = new Map(['lib', 'decorators'].flatMap(list).map((path) => [path, read(path)]));

function list(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name).split(sep).join('/'))
    .filter((path) => path.endsWith('.ts') && statSync(join(root, path)).isFile())
    .sort();
}

function read(path: string): Source {
  const text = readFileSync(join(root, path), 'utf8');
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
  return { path, text, tree, imports: importsOf(path, tree) };
}

function importsOf(path: string, tree: ts.SourceFile): Import[] {
  const found: Import[] = [];
  const add = (specifier: string, typeOnly: boolean, reexport: boolean) =>
    found.push({ target: resolve(path, specifier), typeOnly, reexport, specifier });
  walk(tree, (node) => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      const names = node.importClause?.namedBindings;
      const allTypes =
        names !== undefined && ts.isNamedImports(names) && names.elements.every((each) => each.isTypeOnly);
      const typeOnly = node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
      add(node.moduleSpecifier.text, typeOnly || (allTypes && !node.importClause?.name), false);
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)) {
      const names = node.exportClause;
      const allTypes =
        names !== undefined && ts.isNamedExports(names) && names.elements.every((each) => each.isTypeOnly);
      add(node.moduleSpecifier.text, node.isTypeOnly || allTypes, true);
    } else if (ts.isCallExpression(node) && isLoad(node) && ts.isStringLiteralLike(node.arguments[0])) {
      add(node.arguments[0].text, false, false);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add((node.argument.literal as ts.StringLiteral).text, true, false);
    }
  });
  return found;
}

function isLoad(node: ts.CallExpression): boolean {
  const { expression } = node;
  const isRequire = ts.isIdentifier(expression) && expression.text === 'require';
  return node.arguments.length > 0 && (expression.kind === ts.SyntaxKind.ImportKeyword || isRequire);
}

function resolve(from: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier;
  const path = relative(root, join(root, dirname(from), specifier))
    .split(sep)
    .join('/');
  for (const candidate of [`${path}.ts`, `${path}/index.ts`]) if (existsSync(join(root, candidate))) return candidate;
  return path;
}

function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

function folderOf(path: string): string {
  const [top, folder] = path.split('/');
  return top === 'lib' ? folder : top;
}

function layerOf(path: string): number {
  const found = layers.findIndex((layer) => layer.includes(folderOf(path)));
  return found < 0 ? outermost : found;
}

function forEachImport(visit: (source: Source, each: Import) => string | undefined): string[] {
  return [...sources.values()].flatMap((source) => source.imports.flatMap((each) => visit(source, each) ?? []));
}

describe('source tree', () => {
  it('imports go one way: errors ← values, plan, ports ← authoring ← metadata ← compiler, core ← store … ← the rest', () => {
    const against = forEachImport(({ path }, { target }) => {
      const wrong = path.startsWith('lib/') && target.startsWith('lib/') && layerOf(target) > layerOf(path);
      return wrong ? `${path} imports ${target}` : undefined;
    });
    deepStrictEqual(against, []);
  });

  it('lib never imports decorators, tests, samples or the root', () => {
    const against = forEachImport(({ path }, { target, specifier }) => {
      const outside = specifier.startsWith('.') && !target.startsWith('lib/');
      return path.startsWith('lib/') && outside ? `${path} imports ${target}` : undefined;
    });
    deepStrictEqual(against, []);
  });

  it('engine, worker and client never import an adapter, also not through an index', () => {
    const against = forEachImport(({ path }, { target, typeOnly }) => {
      if (typeOnly || !path.startsWith('lib/') || !adapterUsersAreNot.includes(folderOf(path))) return undefined;
      const adapter = reached(target).find((each) => adapters.test(each));
      return adapter ? `${path} imports ${adapter}${adapter === target ? '' : ` by ${target}`}` : undefined;
    });
    deepStrictEqual(against, []);
  });

  it('has no import cycle, but for types within a folder', () => {
    deepStrictEqual(cycles(), []);
  });

  it('the pure half knows no clock, chance, promise or Node module', () => {
    const against = [...sources.values()]
      .filter(({ path }) => path.startsWith('lib/') && pureFolders.includes(folderOf(path)))
      .flatMap(impurities);
    deepStrictEqual(against, []);
  });

  it(`no source file has more than ${mostLines} lines`, () => {
    const long = [...sources.values()]
      .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
      .filter(({ lines }) => lines > mostLines)
      .map(({ path, lines }) => `${path}: ${lines} lines`);
    deepStrictEqual(long, []);
  });

  it('has no default export', () => {
    const found = [...sources.values(), read('index.ts')]
      .filter(({ tree }) => exportsDefault(tree))
      .map(({ path }) => path);
    deepStrictEqual(found, []);
  });

  it('relative imports exist and have no extension', () => {
    const wrong = forEachImport(({ path }, { target, specifier }) => {
      const missing = specifier.startsWith('.') && !target.endsWith('.ts');
      return missing ? `${path} imports ${specifier}` : undefined;
    });
    deepStrictEqual(wrong, []);
  });

  it('files are named in kebab case, and no class is a Manager, Service, Helper, Util or Impl', () => {
    const files = [...sources.keys()].filter((path) => !/^[a-z0-9]+(-[a-z0-9]+)*\.ts$/.test(basename(path)));
    const classes = [...sources.values()].flatMap(({ path, tree }) => {
      const found: string[] = [];
      walk(tree, (node) => {
        const name = (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) && node.name?.text;
        if (name && /(Manager|Service|Helper|Utils?|Impl)$/.test(name)) found.push(`${path}: ${name}`);
      });
      return found;
    });
    deepStrictEqual([...files, ...classes], []);
  });
});

/** A file and, where it is an index, what it hands on. */
function reached(path: string, seen = new Set<string>()): string[] {
  if (seen.has(path)) return [];
  seen.add(path);
  const handedOn = sources.get(path)?.imports.filter((each) => each.reexport && !each.typeOnly) ?? [];
  return [path, ...handedOn.flatMap((each) => reached(each.target, seen))];
}

/** Each cycle once, from its first file. */
function cycles(): string[] {
  const found = new Set<string>();
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]) => {
    const at = trail.indexOf(path);
    if (at >= 0) {
      const ring = trail.slice(at);
      const first = ring.indexOf([...ring].sort()[0]);
      found.add([...ring.slice(first), ...ring.slice(0, first), ring[first]].join(' → '));
      return;
    }
    if (done.has(path)) return;
    for (const { target, typeOnly } of sources.get(path)?.imports ?? []) {
      const free = typeOnly && dirname(target) === dirname(path);
      if (!free && sources.has(target)) visit(target, [...trail, path]);
    }
    done.add(path);
  };
  for (const path of sources.keys()) visit(path, []);
  return [...found];
}

const clocks = ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'fetch'];
const hosts = ['performance', 'process', 'crypto', 'Promise', 'Buffer', 'globalThis'];

/** What depends on more than its arguments, or answers later. */
function impurities({ path, tree, imports }: Source): string[] {
  const modules = imports
    .filter(({ specifier }) => specifier.startsWith('node:') || builtinModules.includes(specifier))
    .map(({ specifier }) => `${path}: ${specifier}`);
  const uses: string[] = [];
  walk(tree, (node) => {
    const use = impureUse(node);
    if (use) uses.push(`${path}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${use}`);
  });
  return [...modules, ...uses];
}

function impureUse(node: ts.Node): string | undefined {
  if (node.kind === ts.SyntaxKind.AsyncKeyword) return 'async';
  if (ts.isAwaitExpression(node)) return 'await';
  if (ts.isCallExpression(node)) {
    if (node.expression.kind === ts.SyntaxKind.ImportKeyword) return 'import()';
    if (ts.isIdentifier(node.expression)) {
      const name = node.expression.text;
      return name === 'Date' || clocks.includes(name) ? `${name}()` : undefined;
    }
  }
  if (ts.isNewExpression(node) && ts.isIdentifier(node.expression)) {
    const name = node.expression.text;
    if (name === 'Promise' || (name === 'Date' && !node.arguments?.length)) return `new ${name}`;
  }
  if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)) {
    const use = `${node.expression.text}.${node.name.text}`;
    if (hosts.includes(node.expression.text) || use === 'Date.now' || use === 'Math.random') return use;
  }
  return undefined;
}

function exportsDefault(tree: ts.SourceFile): boolean {
  let found = false;
  walk(tree, (node) => {
    // `export default class`, and `export default value` or `export =`.
    if (ts.isExportAssignment(node) || node.kind === ts.SyntaxKind.DefaultKeyword) found = true;
    if (ts.isExportSpecifier(node) && node.name.text === 'default') found = true;
  });
  return found;
}
