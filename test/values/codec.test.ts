import assert from 'node:assert/strict';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { HoldfastError } from '../../lib/errors';
import { decode, decodeRecord, encode, encodeRecord, MAX_DEPTH, PAYLOAD_LIMIT_BYTES } from '../../lib/values';

const roundTrip = (value: unknown) => decode(encode(value, 'value'));

function refused(value: unknown, code: string, path?: string): HoldfastError {
  try {
    encode(value, 'value');
  } catch (failure) {
    assert.ok(failure instanceof HoldfastError, String(failure));
    assert.equal(failure.code, code, failure.message);
    if (path !== undefined) assert.equal(failure.where, path);
    return failure;
  }
  return assert.fail(`was encoded, instead of ${code}`);
}

describe('[A3] values', () => {
  const own = (text: string) => JSON.parse(text) as unknown;
  const cases: Record<string, unknown> = {
    text: ['', 'a', 'é', '\u{1f600}', '\0', 'x'.repeat(70_000)],
    'lone surrogates': ['\ud800', 'a\udc00b', { '\ud800': 1 }],
    numbers: [0, 1, -1, 127, 128, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 31) - 1, 0.1, 5e-324, Number.MAX_VALUE],
    'odd numbers': [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, { a: -0 }],
    'true, false, null': [true, false, null],
    undefined: [undefined, { a: undefined }, new Map([[undefined, undefined]])],
    bigint: [0n, 10n, -1n, 2n ** 63n, 2n ** 64n, -(2n ** 63n), -(2n ** 63n) - 1n, 2n ** 200n, -(2n ** 200n)],
    dates: [0, -1, 1.5e12 + 123, 8.64e15, -8.64e15].map((time) => new Date(time)),
    maps: new Map<unknown, unknown>([
      [{ a: 1 }, 1],
      ['k', new Map([[1, 2n]])],
      [Number.NaN, []],
      ['__proto__', 3],
    ]),
    sets: new Set<unknown>([1, 'a', { a: 1 }, new Set([1n])]),
    bytes: [new Uint8Array([1, 2, 3]), Buffer.from('abc'), new Uint8Array(0), Buffer.alloc(0)],
    'typed arrays': [
      new Float64Array([1.5, -0]),
      new Int16Array([-1]),
      new BigInt64Array([-1n]),
      new Uint8ClampedArray(2),
    ],
    'ArrayBuffer and DataView': [new Uint8Array([1, 2]).buffer, new DataView(new Uint8Array([1, 2]).buffer)],
    'regular expressions': [/a+/giu],
    empty: [{}, [], new Map(), new Set(), ''],
    nested: { a: [{ b: new Map([['c', { d: [new Date(5), 2n ** 70n] }]]) }] },
    'keys of Object': own('{"__proto__":{"a":1},"constructor":2,"toJSON":3,"hasOwnProperty":4,"then":5,"length":6}'),
    'numeric keys': { 10: 'a', 9: 'b', '-1': 'c', x: 'd' },
    // biome-ignore lint/suspicious/noSparseArray: that is the case.
    holes: [[1, , 3], new Array(3)],
    'objects of one shape': Array.from({ length: 100 }, (_, i) => ({ id: i, name: `n${i}` })),
    'objects of many shapes': Array.from({ length: 300 }, (_, i) => ({ [`k${i}`]: i, [`l${i}`]: i })),
    'a dictionary': Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`key ${i}`, i])),
    'a long array': Array.from({ length: 100_000 }, (_, i) => i),
  };

  for (const [name, value] of Object.entries(cases)) {
    it(`come back equal: ${name}`, () => {
      assert.deepStrictEqual(roundTrip(value), value);
      if (Array.isArray(value) && value.length < 20) {
        for (const item of value) assert.deepStrictEqual(roundTrip(item), item);
      }
    });
  }

  it('come back equal: anything plain', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withSparseArray: true,
      key: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('__proto__', 'constructor', 'toJSON', '0')),
      maxDepth: 4,
    });
    fc.assert(
      fc.property(anything.filter(hasNoInvalidDate), (value) => assert.deepStrictEqual(roundTrip(value), value)),
      {
        numRuns: 300,
      },
    );
  });

  it('keep an invalid Date', () => {
    assert.ok(Number.isNaN((roundTrip(new Date(Number.NaN)) as Date).getTime()));
  });

  it('keep the kind of bytes, and share no memory with what is stored', () => {
    for (const value of [Buffer.from('abc'), new Uint8Array([1, 2]), new Float64Array([1])]) {
      const stored = encode({ value }, 'value');
      const before = Buffer.from(stored);
      const { value: copy } = decode(stored) as { value: Uint8Array };
      assert.equal(copy.constructor, value.constructor);
      copy.fill(7);
      assert.ok(before.equals(stored));
    }
  });

  it('come back equal from stores that give plain Uint8Arrays', () => {
    const value = { a: 'é'.repeat(100), b: Buffer.from('b'), c: new Uint8Array([1]) };
    assert.deepStrictEqual(decode(new Uint8Array(encode(value, 'value'))), value);
  });

  it('lose only the missing prototype of an object without one', () => {
    const value = Object.assign(Object.create(null), { a: 1 });
    assert.deepStrictEqual(roundTrip(value), { a: 1 });
  });

  it('take objects of another realm, as test runners make them', () => {
    const foreign = runInNewContext(
      '({ a: [1, new Date(5)], b: new Map([["k", new Set([1n])]]), c: new Uint8Array([1]) })',
    );
    assert.deepStrictEqual(roundTrip(foreign), {
      a: [1, new Date(5)],
      b: new Map([['k', new Set([1n])]]),
      c: new Uint8Array([1]),
    });
  });

  it('encode equal values to equal bytes, whatever was encoded before', () => {
    const value = { b: 1, a: [{ x: 1 }, { x: 2 }] };
    const first = encode(value, 'value');
    for (let i = 0; i < 200; i++) encode({ [`p${i}`]: i, b: 1 }, 'value');
    assert.deepStrictEqual(encode(structuredClone(value), 'other'), first);
  });

  it('keep what a getter gave', () => {
    const value = {
      get total() {
        return 3;
      },
    };
    assert.deepStrictEqual(roundTrip(value), { total: 3 });
  });
});

describe('[A3] values that cannot be kept', () => {
  class Money {
    constructor(readonly amount: number) {}
  }
  const cyclic: Record<string, unknown> = { list: [] };
  (cyclic.list as unknown[]).push(cyclic);
  const cases: [name: string, value: unknown, path: string][] = [
    ['a function', () => 1, 'value'],
    ['a class', { type: Money }, 'value.type'],
    ['a symbol', [1, { s: Symbol('s') }], 'value[1].s'],
    ['a class instance', { items: [1, 2, { price: new Money(1) }] }, 'value.items[2].price'],
    ['an Error', { error: new TypeError('x') }, 'value.error'],
    ['a URL', [new URL('http://host')], 'value[0]'],
    ['a Promise', { later: Promise.resolve(1) }, 'value.later'],
    ['a WeakMap', new WeakMap(), 'value'],
    ['a boxed number', Object(1), 'value'],
    ['a subclass of Map', new (class Index extends Map {})(), 'value'],
    ['a fake Map', Object.create(Map.prototype), 'value'],
    ['a map value', new Map([['price', () => 1]]), 'value.<map key "price">'],
    ['a map key', new Map([[new Money(1), 1]]), 'value.<map key Money>'],
    ['a set item', new Set([1, () => 1]), 'value.<set item 1>'],
    ['a cycle', cyclic, 'value.list[0]'],
    ['a key that is no name', { 'a b': { 1: () => 1 } }, 'value["a b"]["1"]'],
    ['a property named by a symbol', { [Symbol('s')]: 1 }, 'value[Symbol(s)]'],
    [
      'a getter that throws',
      {
        get now() {
          throw new Error('no');
        },
      },
      'value.now',
    ],
  ];

  for (const [name, value, path] of cases) {
    it(`are refused with their path: ${name}`, () => {
      const failure = refused(value, 'VALUE_NOT_STORABLE', path);
      assert.ok(failure.message.startsWith(`${path} cannot be stored`), failure.message);
      assert.equal(failure.kind, 'definition');
    });
  }

  it('are refused when reading them fails', () => {
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    refused({ a: revoked.proxy }, 'VALUE_NOT_STORABLE');
  });

  it('are refused by a clear error when nested too deep', () => {
    const nest = (levels: number) => {
      let value: unknown = 1;
      for (let i = 0; i < levels; i++) value = { next: value };
      return value;
    };
    assert.deepStrictEqual(roundTrip(nest(MAX_DEPTH)), nest(MAX_DEPTH));
    assert.match(refused(nest(MAX_DEPTH + 1), 'VALUE_NOT_STORABLE').message, /nested deeper than 500/);
    refused(nest(100_000), 'VALUE_NOT_STORABLE');
  });
});

describe('[P9] [C44] the payload limit', () => {
  it('takes what is just below, and refuses what is above with its size and the limit', () => {
    assert.equal((roundTrip('x'.repeat(PAYLOAD_LIMIT_BYTES - 10)) as string).length, PAYLOAD_LIMIT_BYTES - 10);
    const failure = refused('é'.repeat(PAYLOAD_LIMIT_BYTES / 2 + 1), 'PAYLOAD_TOO_LARGE');
    assert.match(failure.message, /value takes 41943\d\d bytes; the limit is 4194304 bytes/);
    assert.equal(failure.kind, 'definition');
  });

  it('refuses at once what is far above', () => {
    refused('x'.repeat(20 * 1024 * 1024), 'PAYLOAD_TOO_LARGE');
    refused(Buffer.alloc(20 * 1024 * 1024), 'PAYLOAD_TOO_LARGE');
    refused(new Array(2 ** 32 - 1), 'PAYLOAD_TOO_LARGE');
    refused(2n ** 40_000_000n, 'PAYLOAD_TOO_LARGE');
    let bomb: unknown = 1;
    for (let i = 0; i < 60; i++) bomb = [bomb, bomb];
    refused(bomb, 'PAYLOAD_TOO_LARGE');
  });
});

describe('[C41] bigint', () => {
  for (const value of [10n, { a: [10n] }, 2n ** 200n, new Map([[1n, -(2n ** 100n)]])]) {
    it(`comes back equal: ${typeof value === 'bigint' ? value : Object.keys(value)}`, () => {
      assert.deepStrictEqual(roundTrip(value), value);
    });
  }
});

describe('records', () => {
  const record = {
    id: 'r',
    at: 1.5,
    none: undefined,
    map: new Map([['k', { n: 2n }]]),
    list: [null, true],
    payload: bytes(),
  };

  it('come back equal', () => {
    assert.deepEqual(decodeRecord(encodeRecord(record)), record);
    // Stores may give plain Uint8Arrays.
    assert.deepEqual(decodeRecord(new Uint8Array(encodeRecord(record))), record);
  });

  it('give nested bytes as views', () => {
    const stored = encodeRecord({ payload: new Uint8Array(encode({ a: -0, b: 'x' }, 'value')) });
    const { payload } = decodeRecord(stored) as { payload: Uint8Array };
    assert.equal(payload.buffer, stored.buffer);
    assert.deepStrictEqual(decode(payload), { a: -0, b: 'x' });
  });

  it('are above no limit', () => {
    const payload = Buffer.alloc(PAYLOAD_LIMIT_BYTES + 1, 1);
    assert.ok(Buffer.from((decodeRecord(encodeRecord({ payload })) as { payload: Buffer }).payload).equals(payload));
  });

  it('[P10] are refused as corrupt when they cannot be read', () => {
    const good = Buffer.from(encodeRecord(record));
    const torn = good.subarray(0, good.length - 3);
    for (const bad of [Buffer.alloc(0), Buffer.from([0x99, 1]), torn, encode(1, 'value')]) {
      assert.throws(() => decodeRecord(bad, 'run r1'), { code: 'CORRUPT_RECORD' });
    }
    for (const bad of [Buffer.alloc(0), Buffer.from([0x99, 1]), encode('abcdef', 'value').subarray(0, 4), good]) {
      assert.throws(() => decode(bad), { code: 'CORRUPT_RECORD' });
    }
    assert.throws(() => decode(Buffer.concat([encode([1], 'value'), Buffer.from([1])])), { code: 'CORRUPT_RECORD' });
  });
});

function bytes(): Uint8Array {
  return Buffer.from('payload');
}

/** deepStrictEqual takes two invalid Dates for different. */
function hasNoInvalidDate(value: unknown): boolean {
  if (value instanceof Date) return !Number.isNaN(value.getTime());
  if (value instanceof Map) return [...value].every(hasNoInvalidDate);
  if (value instanceof Set) return [...value].every(hasNoInvalidDate);
  if (typeof value === 'object' && value !== null) return Object.values(value).every(hasNoInvalidDate);
  return true;
}
