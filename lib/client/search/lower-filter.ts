import type { AttributeBinding, Compiled, CompiledFlow } from '../../compiler';
import { HoldfastError } from '../../errors';
import type { IndexKind } from '../../plan';
import type { Class, IndexFilter, TermTest } from '../../ports';
import { expectedBy, indexTerms, wordsOf } from '../../values';
import type { Filter, Operator } from './filter';

const ordered: readonly Operator[] = ['exists', 'equals', 'in', 'atLeast', 'above', 'atMost', 'below', 'between'];

const operators: Readonly<Record<IndexKind, readonly Operator[]>> = {
  keyword: ['exists', 'equals', 'in', 'startsWith'],
  text: ['exists', 'contains'],
  keywordArray: ['exists', 'has', 'hasAny'],
  int: ordered,
  double: ordered,
  datetime: ordered,
  bool: ['exists', 'equals', 'in'],
};

/** Looks a filter's Attributes up, among the Flows that are asked for. Throws `INVALID_ARGUMENT`. */
export function lowerFilter(filter: Filter, compiled: Compiled, flows: readonly CompiledFlow[]): IndexFilter {
  switch (filter?.kind) {
    case 'either':
      return { kind: 'any', of: filter.filters.map((each) => lowerFilter(each, compiled, flows)) };
    case 'not':
      return { kind: 'not', of: lowerFilter(filter.filter, compiled, flows) };
    case 'attribute':
      return lowerAttribute(bindingOf(filter.attribute as unknown as Class, compiled, flows), filter);
    default:
      throw new HoldfastError(
        'INVALID_ARGUMENT',
        'A query takes filters made by attribute(), either() and not() in where.',
      );
  }
}

function lowerAttribute(
  binding: AttributeBinding,
  { operator, values }: Filter & { readonly kind: 'attribute' },
): IndexFilter {
  const { name } = binding;
  const kind = binding.plan.index!;
  if (!operators[kind].includes(operator)) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `${name} has the index '${kind}', which cannot be asked with ${operator}().`,
      {
        where: name,
        fix: `Ask with ${operators[kind].join(', ')}.`,
      },
    );
  }
  const of = (test: TermTest | null): IndexFilter => ({
    ...{ kind: 'attribute', test },
    names: [name, ...binding.plan.aliases],
  });
  if (operator === 'exists') return of(null);
  if (operator === 'contains') {
    const words = typeof values[0] === 'string' ? wordsOf(values[0]) : [];
    if (words.length === 0) throw misfit(name, values[0], 'text with at least one word');
    return { kind: 'all', of: words.map((word) => of({ kind: 'is', terms: [word] })) };
  }
  if (operator === 'startsWith') {
    const [prefix] = values;
    if (!indexTerms('keyword', prefix) || prefix === null) throw misfit(name, prefix, expectedBy('keyword'));
    return of({ kind: 'startsWith', prefix: prefix as string });
  }
  const terms = values.map((value) => termOf(binding, kind === 'keywordArray' ? 'keyword' : kind, value));
  if (operator === 'equals' || operator === 'in' || operator === 'has' || operator === 'hasAny') {
    return of({ kind: 'is', terms });
  }
  const [from, to] = terms as number[];
  const range = operator === 'between' ? { atLeast: from!, below: to! } : { [operator]: from! };
  return of({ kind: 'range', range });
}

function termOf({ name, codec }: AttributeBinding, kind: IndexKind, value: unknown): string | number {
  const [term] = indexTerms(kind, codec && value != null ? codec.encode(value) : value)?.terms ?? [];
  if (term === undefined) throw misfit(name, value, expectedBy(kind));
  return term;
}

function misfit(name: string, value: unknown, expected: string): HoldfastError {
  const found = typeof value === 'string' ? JSON.stringify(value.slice(0, 100)) : String(value);
  return new HoldfastError('INVALID_ARGUMENT', `${name} cannot be asked for ${found}: its index takes ${expected}.`, {
    where: name,
  });
}

function bindingOf(type: Class, compiled: Compiled, flows: readonly CompiledFlow[]): AttributeBinding {
  const among = flows.length > 0 ? flows : [...compiled.flows.values()];
  const bindings = among.flatMap((flow) => flow.attributeOf(type) ?? []);
  const indexed = bindings.find((binding) => binding.plan.index !== null);
  if (indexed) return indexed;
  const name = type?.name ?? String(type);
  if (bindings.length > 0) {
    throw new HoldfastError('INVALID_ARGUMENT', `The Attribute ${name} has no index.`, {
      where: name,
      fix: "Declare one: @Attribute({ index: 'keyword' }).",
    });
  }
  const flowNames = among.map((flow) => flow.plan.name).join(', ');
  throw new HoldfastError('INVALID_ARGUMENT', `None of the Flows ${flowNames} has an Attribute ${name}.`);
}
