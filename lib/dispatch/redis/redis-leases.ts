import type { Redis } from 'ioredis';
import type { LeasePart, Leases, LeasesView } from '../../ports';
import { redisError } from './redis-connections';
import type { RedisKeys } from './redis-keys';

/**
 * KEYS: engines, clocks, then the owner key of each shard. ARGV: engine, lease in ms, its wall clock, its part.
 * Renews what the engine holds, takes free shards up to its fair share, and counts what it has too many. Answers the
 * held shards, then -1 and the excess.
 */
const tend = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lease = tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREM', KEYS[1], ARGV[1])
local leaving = ARGV[4] == 'leaves' or (ARGV[4] == 'stepped back' and redis.call('ZCARD', KEYS[1]) > 0)
if not leaving then redis.call('ZADD', KEYS[1], now + lease, ARGV[1]) end
local engines = redis.call('ZRANGE', KEYS[1], 0, -1)
local counts, live = {}, 0
for _, engine in ipairs(engines) do counts[engine] = 0; live = live + 1 end
if not leaving then redis.call('HSET', KEYS[2], ARGV[1], ARGV[3] - now) end
for _, engine in ipairs(redis.call('HKEYS', KEYS[2])) do
  if not counts[engine] then redis.call('HDEL', KEYS[2], engine) end
end
local shards = #KEYS - 2
local held, free = {}, {}
for i = 1, shards do
  local owner = redis.call('GET', KEYS[i + 2])
  if not owner then
    table.insert(free, i)
  else
    if owner == ARGV[1] then
      redis.call('PEXPIRE', KEYS[i + 2], lease)
      table.insert(held, i - 1)
    end
    if counts[owner] then counts[owner] = counts[owner] + 1 end
  end
end
if leaving then
  table.insert(held, -1)
  table.insert(held, 0)
  return held
end
local fewest = nil
for engine, count in pairs(counts) do
  if engine ~= ARGV[1] and (fewest == nil or count < fewest) then fewest = count end
end
local mine, sure = counts[ARGV[1]], math.floor(shards / live)
local most = sure
if shards % live > 0 then most = sure + 1 end
for _, i in ipairs(free) do
  if mine >= most or (mine >= sure and fewest ~= nil and mine > fewest) then break end
  redis.call('SET', KEYS[i + 2], ARGV[1], 'PX', lease, 'NX')
  table.insert(held, i - 1)
  mine = mine + 1
end
local excess = 0
if fewest ~= nil and mine > sure and mine - fewest >= 2 then excess = math.floor((mine - fewest) / 2) end
table.insert(held, -1)
table.insert(held, excess)
return held
`;

/** KEYS: owner keys. ARGV: engine. */
const release = `
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then redis.call('DEL', key) end
end
return redis.call('TIME')
`;

/** Leases as keys that expire; one script a round, so that engines never see half of what another does. */
export class RedisLeases implements Leases {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    /** Calls the engine's callback when it is told to look. */
    private readonly onLook: (look: () => void) => () => void,
  ) {}

  async tend(engine: string, shards: number, leaseMs: number, part: LeasePart): Promise<LeasesView> {
    const keys = [this.keys.engines, this.keys.clocks, ...this.owners(shards)];
    const answer = (await this.run(tend, keys, [engine, leaseMs, Date.now(), part])) as number[];
    const end = answer.indexOf(-1);
    return { held: answer.slice(0, end), excess: answer[end + 1] ?? 0 };
  }

  async release(engine: string, shards: readonly number[]): Promise<void> {
    if (shards.length === 0) return;
    const keys = shards.map((shard) => this.keys.owner(shard));
    await this.run(release, keys, [engine]);
    await this.tellOthers(engine);
  }

  async leave(engine: string): Promise<void> {
    await this.redis.zrem(this.keys.engines, engine).catch((error) => {
      throw redisError(error);
    });
    await this.tellOthers(engine);
  }

  onReleased(look: () => void): () => void {
    return this.onLook(look);
  }

  private owners(shards: number): string[] {
    return Array.from({ length: shards }, (_, shard) => this.keys.owner(shard));
  }

  private async tellOthers(engine: string): Promise<void> {
    try {
      const others = (await this.redis.zrange(this.keys.engines, 0, -1)).filter((other) => other !== engine);
      const pipeline = this.redis.pipeline();
      for (const other of others) {
        pipeline.xadd(this.keys.poke(other), 'MAXLEN', 4, '*', 'p', 'look');
        pipeline.pexpire(this.keys.poke(other), 60_000);
      }
      await pipeline.exec();
    } catch (cause) {
      throw redisError(cause);
    }
  }

  private async run(script: string, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    try {
      return await this.redis.eval(script, keys.length, ...keys, ...args);
    } catch (cause) {
      throw redisError(cause);
    }
  }
}
