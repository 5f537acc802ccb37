import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../../lib/core/limits';
import { defaultSettings } from '../../lib/engine/settings';
import { defaultConfig, defaultMethod, defaultRetry } from '../../lib/plan/plan';
import { maximumDurationMs } from '../../lib/values/duration';
import { PAYLOAD_LIMIT_BYTES } from '../../lib/values/limits';
import { MAX_DEPTH } from '../../lib/values/storable';
import { defaultWorkerSettings } from '../../lib/worker/worker';

const text = readFileSync(join(__dirname, '../../docs/guarantees.md'), 'utf8');

/** The value in the row of a table that starts with that text. */
function row(start: string): string {
  const line = text.split('\n').find((each) => each.startsWith(`| ${start}`));
  assert.ok(line, `no row for ${start}`);
  return line.split('|')[2]!.trim();
}

const count = (value: number) => value.toLocaleString('en-US');

describe('docs/guarantees.md', () => {
  it('[P9] has every limit with its number', () => {
    for (const [name, value] of Object.entries(limits)) {
      assert.equal(row(`\`${name}\``), name.endsWith('Ms') ? duration(value) : count(value), name);
    }
    assert.equal(row('one stored value'), `${PAYLOAD_LIMIT_BYTES / 2 ** 20} MiB`);
    assert.equal(row('nesting of a value'), count(MAX_DEPTH));
    assert.equal(row('a duration'), `${maximumDurationMs / (365 * 86_400_000)} years`);
    assert.equal(row('unanswered requests'), `${count(defaultSettings.maximumBacklog)}, then \`OVERLOADED\``);
    assert.equal(row('a write without an answer'), duration(defaultSettings.writeTimeoutMs));
  });

  it('has every default', () => {
    assert.equal(row('`durability`'), `\`${defaultConfig.durability}\``);
    assert.equal(row('`timeout` of one attempt'), duration(defaultMethod.timeoutMs));
    assert.equal(row('`heartbeatTimeout`'), duration(defaultMethod.heartbeatTimeoutMs));
    assert.equal(row('`startTimeout`'), duration(defaultMethod.startTimeoutMs));
    assert.equal(row('`retry.initialInterval`'), duration(defaultRetry.initialIntervalMs));
    assert.equal(row('`retry.coefficient`'), count(defaultRetry.coefficient));
    assert.equal(row('`retry.maximumInterval`'), duration(defaultRetry.maximumIntervalMs));
    assert.equal(row('`retry.maximumAttempts`'), defaultRetry.maximumAttempts ?? 'no limit');
    assert.equal(row('`retry.totalDuration`'), duration(defaultRetry.totalMs));
    assert.equal(row('`retry.jitter`'), count(defaultRetry.jitter));
    assert.equal(row('`retry.nonRetryable`'), defaultRetry.nonRetryable.join() || 'none');
    assert.equal(row('`slots`'), count(defaultWorkerSettings.slots));
    assert.equal(row('RPCs and Queries of a worker'), count(defaultWorkerSettings.callSlots));
    assert.equal(row('`grace`'), duration(defaultWorkerSettings.graceMs));
    const { historyLimitEvents, historyLimitBytes, retentionMs } = defaultConfig;
    assert.ok(text.includes(`${count(historyLimitEvents)} events or ${historyLimitBytes / 2 ** 20} MiB`));
    assert.ok(text.includes(`\`retention\` (${duration(retentionMs)})`));
    assert.ok(text.includes(`up to ${count(defaultSettings.idleFlowsInMemory)} idle Flows`));
  });
});

function duration(ms: number | null): string {
  if (ms === null) return 'none';
  const units = [
    ['d', 86_400_000, 2],
    ['h', 3_600_000, 1],
    ['s', 1_000, 1],
  ] as const;
  for (const [unit, size, least] of units)
    if (ms % size === 0 && ms / size >= least && (unit !== 's' || ms / size <= 100)) return `${ms / size} ${unit}`;
  return `${ms} ms`;
}
