import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { errorsDoc, errorsDocPath } from '../../scripts/errors-doc';

describe('docs/errors.md', () => {
  it('is what the catalogue says: run `npm run docs:errors`', () => {
    assert.equal(readFileSync(errorsDocPath, 'utf8'), errorsDoc());
  });
});
