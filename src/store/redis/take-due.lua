--[[
Takes records that are due, the earliest first, under a lease: no replica takes them again before it ends.

KEYS[1]  sorted set: ids of records, scored by when each is due, in ms
KEYS[2]  hash: the records by id
ARGV[1]  the time, in ms
ARGV[2]  when the lease ends, in ms
ARGV[3]  how many at most

Returns their records.
]]
local taken = {}
for _, field in ipairs(redis.call("ZRANGEBYSCORE", KEYS[1], "-inf", ARGV[1], "LIMIT", 0, ARGV[3])) do
  local record = redis.call("HGET", KEYS[2], field)
  if record then
    redis.call("ZADD", KEYS[1], ARGV[2], field)
    taken[#taken + 1] = record
  else
    redis.call("ZREM", KEYS[1], field)
  end
end
return taken
