--[[
Puts a change request at the end of the queue for a lock, unless it is in it.

KEYS[1]  the queue: a sorted set of records, scored by the order in which they joined
ARGV[1]  record of the change request
ARGV[2]  how many records the queue may have
ARGV[3]  how long the queue is kept from now, in ms

Returns its place, counted from 1; 0 if the queue is full: nothing was written
]]
if not redis.call("ZSCORE", KEYS[1], ARGV[1]) then
  if redis.call("ZCARD", KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
  local last = redis.call("ZRANGE", KEYS[1], -1, -1, "WITHSCORES")
  redis.call("ZADD", KEYS[1], (tonumber(last[2]) or 0) + 1, ARGV[1])
end
redis.call("PEXPIRE", KEYS[1], ARGV[3])
return redis.call("ZRANK", KEYS[1], ARGV[1]) + 1
