import type { IndexKind } from '../plan/plan';

/** What one indexed value is shown as in a listing, and what it is found by; without terms it is not found. */
export interface IndexTerms {
  readonly shown: string | number | boolean | readonly string[] | null;
  readonly terms: readonly (string | number)[];
}

/** The largest keyword, in bytes of UTF-8; databases limit what an index may hold. */
export const keywordBytes = 512;
export const keywordsPerArray = 100;
/** Words of a text beyond these are not found. */
export const wordsPerText = 1_000;
/** Longer words are found by their beginning. */
export const charactersPerWord = 64;

const fits: Readonly<Record<IndexKind, string>> = {
  keyword: `a well-formed string without NUL of at most ${keywordBytes} bytes`,
  text: 'a string',
  keywordArray: `an array of at most ${keywordsPerArray} well-formed strings without NUL of at most ${keywordBytes} bytes`,
  int: 'a whole number or bigint from -(2^53-1) to 2^53-1',
  double: 'a finite number',
  bool: 'a boolean',
  datetime: 'a valid Date',
};

/** What a kind of index takes, in words. */
export function expectedBy(kind: IndexKind): string {
  return fits[kind];
}

/** The terms of a value, undefined where it does not fit the kind of index. null is a value that is not found. */
export function indexTerms(kind: IndexKind, value: unknown): IndexTerms | undefined {
  if (value === null) return { shown: null, terms: [] };
  switch (kind) {
    case 'keyword':
      return isKeyword(value) ? { shown: value, terms: [value] } : undefined;
    case 'text':
      return typeof value === 'string' ? { shown: null, terms: wordsOf(value) } : undefined;
    case 'keywordArray':
      return isKeywordArray(value) ? { shown: [...value], terms: [...new Set(value)] } : undefined;
    case 'int':
      return Number.isSafeInteger(Number(value)) && (typeof value === 'number' || typeof value === 'bigint')
        ? ofNumber(Number(value))
        : undefined;
    case 'double':
      return typeof value === 'number' && Number.isFinite(value) ? ofNumber(value) : undefined;
    case 'bool':
      return typeof value === 'boolean' ? { shown: value, terms: [value ? 1 : 0] } : undefined;
    case 'datetime':
      return value instanceof Date && !Number.isNaN(value.getTime()) ? ofNumber(value.getTime()) : undefined;
  }
}

/** The different words of a text, in lower case; what is no letter, mark or digit parts them. */
export function wordsOf(text: string): string[] {
  const words = new Set<string>();
  for (const [word] of text
    .normalize('NFKC')
    .toLowerCase()
    .matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    words.add([...word].slice(0, charactersPerWord).join(''));
    if (words.size === wordsPerText) break;
  }
  return [...words];
}

function ofNumber(value: number): IndexTerms {
  return { shown: value, terms: [value] };
}

function isKeyword(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    Buffer.byteLength(value) <= keywordBytes &&
    !value.includes('\0') &&
    !/\p{Surrogate}/u.test(value)
  );
}

function isKeywordArray(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= keywordsPerArray && value.every(isKeyword);
}
