import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../..');

/** A TypeScript snippet of the documentation. */
export interface Snippet {
  /** e.g. `README.md:40`. */
  readonly where: string;
  readonly code: string;
  /** What it prints, where the text says so. */
  readonly output: string | undefined;
}

/** Files with documentation, relative to the project. */
export function documents(): string[] {
  const docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
  return ['README.md', ...docs.sort().map((name) => `docs/${name}`)];
}

/**
 * The snippets of a document. A block marked `ts` is a file of its own, one marked `ts continued` goes on with the block
 * before it; a block marked `text output` is what the program before it prints.
 */
export function snippetsOf(document: string): Snippet[] {
  const snippets: Snippet[] = [];
  for (const { mark, line, text } of blocksOf(readFileSync(join(root, document), 'utf8'))) {
    const last = snippets.at(-1);
    if (mark === 'ts') snippets.push({ where: `${document}:${line}`, code: text, output: undefined });
    else if (mark === 'ts continued' && last) snippets[snippets.length - 1] = { ...last, code: last.code + text };
    else if (mark === 'text output' && last) snippets[snippets.length - 1] = { ...last, output: text };
    else if (/^(ts|typescript|text output)\b/.test(mark))
      throw new Error(`${document}:${line}: unknown block '${mark}'`);
  }
  return snippets;
}

/** A snippet that does something when it is run, and not only declares. */
export function isProgram({ code }: Snippet): boolean {
  return /^main\(\)/m.test(code);
}

function blocksOf(markdown: string): { mark: string; line: number; text: string }[] {
  const blocks: { mark: string; line: number; text: string }[] = [];
  let open: { mark: string; line: number; text: string } | undefined;
  markdown.split('\n').forEach((line, index) => {
    if (!line.startsWith('```')) {
      if (open) open.text += `${line}\n`;
    } else if (open) {
      blocks.push(open);
      open = undefined;
    } else open = { mark: line.slice(3).trim(), line: index + 1, text: '' };
  });
  return blocks;
}
