--[[
Ends a run: releases the lease and, unless the event is to run again, removes the event from its list. Changes nothing
for a run that has lost its lease.

KEYS[1]   list: the change request's events
KEYS[2]   hash: the change request's state
KEYS[3]   sorted set: change requests with events, scored by the time they got work, or by when a retry may start
KEYS[4]   the lease
KEYS[5]   hash: events that failed after they had done something, by the key of their journal
KEYS[6]   the run's journal
KEYS[7..] the event's ids, one key each
ARGV[1]   key of the change request
ARGV[2]   fence of the run
ARGV[3]   "done", "failed", "untold" (it failed and is kept to be pushed again), "again" (the event stays and runs once more),
          "retry" (so does it, and its failure counts), or "left" (it stays and did not run)
ARGV[4]   record of the event
ARGV[5]   new value of the event's ids
ARGV[6]   how long the state of a change request without events is kept, in ms
ARGV[7]   how long the next run should wait, in ms
ARGV[8]   with "untold": for how long at least the journal must be kept from now, in ms; otherwise it was written too long ago

Returns { outcome }
  "more"   events are waiting: the caller announces the change request
  "empty"
  "lost"
]]
local fence = redis.call("HGET", KEYS[2], "fence")
if not fence or tonumber(fence) < tonumber(ARGV[2]) then
  -- Redis has lost the state of this run, and no other run has started.
  redis.call("HSET", KEYS[2], "fence", ARGV[2])
elseif fence ~= ARGV[2] or redis.call("HGET", KEYS[2], "running") ~= ARGV[2] then
  return { "lost" }
end
redis.call("DEL", KEYS[4])
redis.call("HDEL", KEYS[2], "running", "stop")
if ARGV[3] == "retry" then redis.call("HINCRBY", KEYS[2], "failures", 1) end
if ARGV[3] == "left" then redis.call("HINCRBY", KEYS[2], "starts", -1) end
if (ARGV[3] == "done" or ARGV[3] == "failed" or ARGV[3] == "untold") and redis.call("LINDEX", KEYS[1], 0) == ARGV[4] then
  redis.call("LPOP", KEYS[1])
  redis.call("HDEL", KEYS[2], "starts")
  if ARGV[3] == "done" then redis.call("DEL", KEYS[6]) end
  if ARGV[3] == "untold" and redis.call("PTTL", KEYS[6]) > tonumber(ARGV[8]) then
    redis.call("HSET", KEYS[5], KEYS[6], ARGV[4])
  end
  for i = 7, #KEYS do redis.call("SET", KEYS[i], ARGV[5], "XX", "KEEPTTL") end
end
if redis.call("LLEN", KEYS[1]) == 0 then
  redis.call("HDEL", KEYS[2], "starts")
  redis.call("ZREM", KEYS[3], ARGV[1])
  redis.call("PEXPIRE", KEYS[2], ARGV[6])
  return { "empty" }
end
if ARGV[7] ~= "0" then
  local time = redis.call("TIME")
  redis.call("ZADD", KEYS[3], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[7], ARGV[1])
end
return { "more" }
