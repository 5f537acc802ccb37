import assert from 'node:assert/strict';
import { checkId, digest, shardOf } from '../../lib/values';

describe('[F3] ids', () => {
  it('may be any Unicode text of 1 to 512 bytes', () => {
    for (const id of [
      'a',
      '0',
      'order:1/2 3',
      '../x',
      'é\u{1f600}',
      '__proto__',
      ' ',
      'x'.repeat(512),
      'é'.repeat(256),
    ]) {
      assert.equal(checkId(id, 'flowId'), id);
    }
  });

  it('are refused otherwise, with the rule', () => {
    for (const id of ['', 'x'.repeat(513), 'é'.repeat(257), 'a\0b', 'a\ud800', '\udc00', undefined, null, 5, {}]) {
      assert.throws(() => checkId(id, 'flowId'), {
        code: 'INVALID_ID',
        message:
          /^flowId must be a non-empty Unicode string of at most 512 bytes of UTF-8 without NUL or lone surrogates/,
      });
    }
  });
});

describe('[I2] digest', () => {
  it('is short, stable and told apart by every part', () => {
    assert.equal(digest('abc'), 'ungWv48Bz-pBQUDeXa4iIw');
    assert.equal(digest(Buffer.from('abc')), digest('abc'));
    assert.notEqual(digest('ab', 'c'), digest('a', 'bc'));
    assert.notEqual(digest('abc', ''), digest('abc'));
  });
});

describe('shardOf', () => {
  it('never changes', () => {
    assert.deepEqual(
      ['', 'a', 'foobar', 'é', '\u{1f600}'].map((id) => shardOf(id, 2 ** 31)),
      ['', 'a', 'foobar', 'é', '\u{1f600}'].map((id) => fnv1a(id) % 2 ** 31),
    );
    assert.equal(shardOf('foobar', 65536), 0xbf9cf968 % 65536);
    assert.equal(shardOf('anything', 1), 0);
  });

  it('spreads ids evenly', () => {
    const counts = new Array<number>(16).fill(0);
    for (let i = 0; i < 16_000; i++) counts[shardOf(`order-${i}`, 16)]!++;
    for (const count of counts) assert.ok(count > 800 && count < 1_200, `${counts}`);
  });
});

/** Written another way, with big integers. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5n;
  for (const byte of Buffer.from(text)) hash = ((hash ^ BigInt(byte)) * 0x01000193n) % 2n ** 32n;
  return Number(hash);
}
