import type { SlotKey, Slots } from '../../ports';
import type { Outbox } from './outbox';
import type { RedisKeys } from './redis-keys';

/** Longer than a take-over: whoever takes a shard over keeps the slots of its attempts. */
const keptMs = 30_000;

/** KEYS: slots. ARGV: how long they are kept in ms, limit, holders. Answers those that hold one now. */
const take = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local until_ = now + ARGV[1]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local room = tonumber(ARGV[2]) - redis.call('ZCARD', KEYS[1])
local got = {}
for i = 3, #ARGV do
  local held = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if held or room > 0 then
    if not held then room = room - 1 end
    redis.call('ZADD', KEYS[1], until_, ARGV[i])
    table.insert(got, ARGV[i])
  end
end
if #got > 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return got
`;

/** KEYS: slots. ARGV: how long they are kept in ms, holders. */
const keep = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
`;

/** Slots as members of a sorted set per key, by the time at which they run out. */
export class RedisSlots implements Slots {
  constructor(
    private readonly outbox: Outbox,
    private readonly keys: RedisKeys,
  ) {}

  take(of: SlotKey, limit: number, holders: readonly string[]): Promise<readonly string[]> {
    return this.outbox.command<string[]>('EVAL', take, 1, this.keys.slots(of), keptMs, limit, ...holders);
  }

  keep(of: SlotKey, holders: readonly string[]): void {
    this.outbox.attempt('EVAL', keep, 1, this.keys.slots(of), keptMs, ...holders);
  }

  async free(of: SlotKey, holder: string): Promise<void> {
    await this.outbox.command('ZREM', this.keys.slots(of), holder);
  }
}
