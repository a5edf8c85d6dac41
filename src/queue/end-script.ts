/**
 * Ends a run: gives back the lease, takes the event out of its list unless it is to run again, and says whether a job is
 * to be added for what waits. Atomic; does nothing for a run that has lost its lease.
 *
 * KEYS[1]  list of the change request's events
 * KEYS[2]  hash of the change request
 * KEYS[3]  sorted set of change requests with work
 * KEYS[4]  the lease
 * KEYS[5]  the run's journal
 * KEYS[6…] the event's names, one key each
 * ARGV[1]  the change request
 * ARGV[2]  fence of the run
 * ARGV[3]  "done", "failed", "again": the event stays and is run once more, or "left": it stays, and was not run
 * ARGV[4]  the event's record
 * ARGV[5]  value of the event's names from now on
 * ARGV[6]  how long the hash of a change request without events is kept, in milliseconds
 *
 * Output: { outcome, generation }
 *   "more"   events wait: a job is to be added for this generation
 *   "empty"
 *   "lost"
 */
export const END_SCRIPT = `
local fence = redis.call("HGET", KEYS[2], "fence")
if not fence or tonumber(fence) < tonumber(ARGV[2]) then
  -- Redis has forgotten of this run, and nobody has begun another one.
  redis.call("HSET", KEYS[2], "fence", ARGV[2])
elseif fence ~= ARGV[2] or redis.call("HGET", KEYS[2], "running") ~= ARGV[2] then
  return { "lost", "" }
end
redis.call("DEL", KEYS[4])
redis.call("HDEL", KEYS[2], "running", "stop")
if ARGV[3] == "left" then redis.call("HINCRBY", KEYS[2], "starts", -1) end
if (ARGV[3] == "done" or ARGV[3] == "failed") and redis.call("LINDEX", KEYS[1], 0) == ARGV[4] then
  redis.call("LPOP", KEYS[1])
  redis.call("HDEL", KEYS[2], "starts")
  if ARGV[3] == "done" then redis.call("DEL", KEYS[5]) end
  for i = 6, #KEYS do redis.call("SET", KEYS[i], ARGV[5], "XX", "KEEPTTL") end
end
if redis.call("LLEN", KEYS[1]) == 0 then
  redis.call("HDEL", KEYS[2], "scheduled", "starts")
  redis.call("ZREM", KEYS[3], ARGV[1])
  redis.call("PEXPIRE", KEYS[2], ARGV[6])
  return { "empty", "" }
end
local generation = tostring(redis.call("HINCRBY", KEYS[2], "generation", 1))
redis.call("HSET", KEYS[2], "scheduled", generation)
return { "more", generation }
`;
