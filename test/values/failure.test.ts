import assert from 'node:assert/strict';
import { runInNewContext } from 'node:vm';
import { HoldfastError } from '../../lib/errors';
import { decode, encode, type Failure, fromFailure, toFailure } from '../../lib/values';

class AppError extends Error {
  readonly code = 'CARD_DECLINED';
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AppError';
  }
}

/** What recovery Steps and clients get: through storage and back. */
function kept(thrown: unknown): Failure {
  const failure = toFailure(thrown);
  assert.deepStrictEqual(decode(encode(failure, 'failure')), failure);
  return failure;
}

describe('[C43] failures', () => {
  it('keep name, message, code, stack and cause', () => {
    const failure = kept(new AppError('no funds', { cause: new TypeError('not a number') }));
    assert.equal(failure.name, 'AppError');
    assert.equal(failure.message, 'no funds');
    assert.equal(failure.code, 'CARD_DECLINED');
    assert.match(failure.stack!, /failure\.test\.ts/);
    assert.equal(failure.cause!.name, 'TypeError');
    assert.equal(failure.cause!.message, 'not a number');

    const error = fromFailure(failure) as Error & { code?: string };
    assert.ok(error instanceof Error);
    assert.equal(error.name, 'AppError');
    assert.equal(error.code, 'CARD_DECLINED');
    assert.equal(error.stack, failure.stack);
    assert.equal((error.cause as Error).name, 'TypeError');
    assert.equal(String(error), 'AppError: no funds');
  });

  it('keep the members of an AggregateError', () => {
    const failure = kept(new AggregateError([new RangeError('one'), 'two', new AppError('three')], 'all failed'));
    assert.equal(failure.name, 'AggregateError');
    assert.deepEqual(
      failure.errors!.map(({ name, message }) => `${name}: ${message}`),
      ['RangeError: one', 'NonError: two', 'AppError: three'],
    );
    const error = fromFailure(failure);
    assert.ok(error instanceof AggregateError);
    assert.equal((error.errors[2] as { code?: string }).code, 'CARD_DECLINED');
  });

  it('keep the class name of an error that sets no name', () => {
    class OutOfStock extends Error {}
    assert.equal(kept(new OutOfStock('x')).name, 'OutOfStock');
  });

  it('keep small own properties, and leave out what cannot be kept', () => {
    const error = Object.assign(new Error('x'), {
      status: 503,
      retryAfter: new Date(5),
      request: { socket: new (class Socket {})() },
      huge: 'x'.repeat(1_000_000),
      self: undefined as unknown,
    });
    error.self = error;
    const failure = kept(error);
    assert.deepStrictEqual(failure.details, { status: 503, retryAfter: new Date(5) });
    assert.equal((fromFailure(failure) as unknown as { status: number }).status, 503);
  });

  it('give library errors back as such', () => {
    const original = new HoldfastError('PAYLOAD_TOO_LARGE', 'too large', { where: 'value' });
    const error = fromFailure(kept(original));
    assert.ok(error instanceof HoldfastError);
    assert.equal(error.code, 'PAYLOAD_TOO_LARGE');
    assert.equal(error.kind, 'definition');
    assert.equal(error.where, 'value');
    assert.equal(error.fix, original.fix);
  });

  it('take a code that is a number as text', () => {
    assert.equal(kept(Object.assign(new Error('duplicate'), { code: 11000 })).code, '11000');
  });

  it('take errors of another realm, and what looks like an error', () => {
    const foreign = kept(runInNewContext('new TypeError("far")'));
    assert.deepEqual([foreign.name, foreign.message], ['TypeError', 'far']);
    const alike = kept({ name: 'ApiError', message: 'bad', code: 'E1' });
    assert.deepEqual([alike.name, alike.message, alike.code], ['ApiError', 'bad', 'E1']);
  });

  it('bound message and stack', () => {
    for (const text of ['x'.repeat(5_000_000), '\u{1f600}'.repeat(1_000_000), 'é'.repeat(5_000)]) {
      const failure = kept(new Error(text));
      assert.ok(Buffer.byteLength(failure.message) <= 8 * 1024, `${Buffer.byteLength(failure.message)}`);
      assert.ok(Buffer.byteLength(failure.stack!) <= 8 * 1024);
      assert.ok(!/\p{Surrogate}/u.test(failure.message) && failure.message.startsWith(text.slice(0, 1_000)));
      assert.ok(failure.message.endsWith('(cut)'));
    }
    assert.equal(kept(new Error('x'.repeat(8_000))).message.length, 8_000);
  });

  it('bound causes and members', () => {
    let deep: Error = new Error('0');
    for (let i = 1; i < 100; i++) deep = new Error(`${i}`, { cause: deep });
    let depth = 0;
    for (let at: Failure | undefined = kept(deep).cause; at; at = at.cause) depth++;
    assert.equal(depth, 8);

    const bush = (level: number): Error =>
      new AggregateError(level === 0 ? [] : Array.from({ length: 10 }, () => bush(level - 1)), 'bush');
    assert.ok(encode(kept(bush(4)), 'failure').length < 512 * 1024);
    assert.equal(kept(new AggregateError(Array.from({ length: 1_000 }, () => new Error('x')))).errors!.length, 23);
  });

  it('end at an error that is its own cause', () => {
    const error = new Error('x');
    error.cause = new Error('y', { cause: error });
    assert.equal(kept(error).cause!.cause, undefined);
  });

  it('never throw, whatever was thrown', () => {
    const revoked = Proxy.revocable(new Error('x'), {});
    revoked.revoke();
    const nasty = new Error('kept');
    // The stack is made when it is first read, and reads the name.
    assert.ok(nasty.stack);
    for (const key of ['name', 'stack', 'code', 'cause', 'errors', 'extra']) {
      Object.defineProperty(nasty, key, {
        enumerable: true,
        get: () => {
          throw new Error('from a getter');
        },
      });
    }
    const odd: [unknown, RegExp][] = [
      [undefined, /undefined/],
      [null, /null/],
      ['a string', /^a string$/],
      [7, /7/],
      [-0, /0/],
      [10n, /10/],
      [Symbol('s'), /Symbol\(s\)/],
      [() => 1, /=>/],
      [{ a: 1 }, /an object/],
      [[1, 2], /an array/],
      [Object.create(null), /an object/],
      [new Date(5), /class Date/],
      [revoked.proxy, /./],
      [nasty, /^kept$/],
      [
        {
          get message() {
            throw new Error('x');
          },
        },
        /an object/,
      ],
      [{ message: 'm', name: 5, stack: {} }, /^m$/],
    ];
    for (const [thrown, message] of odd) {
      const failure = kept(thrown);
      assert.match(failure.message, message);
      assert.ok(failure.name.length > 0);
      const error = fromFailure(failure);
      assert.ok(error instanceof Error);
      assert.equal(error.name, failure.name);
    }
    assert.equal(kept('a string').name, 'NonError');
    assert.deepStrictEqual(kept({ a: 1 }).details, { a: 1 });
  });
});
