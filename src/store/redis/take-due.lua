--[[
Takes records that are due, in the order of their times: nobody else gets them before their lease ends.

KEYS[1]  sorted set: fields of records, scored by when each may be taken
KEYS[2]  hash: the records
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
