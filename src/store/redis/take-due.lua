--[[
Takes the record that is due first, under a lease: no replica takes it again before it ends. By Redis's clock.

KEYS[1]  sorted set: ids of records, scored by when each is due, in ms
KEYS[2]  hash: the records by id
ARGV[1]  how long the lease lasts, in ms

Returns a list of the record, or an empty one.
]]
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local taken = {}
for _, field in ipairs(redis.call("ZRANGEBYSCORE", KEYS[1], "-inf", now, "LIMIT", 0, 1)) do
  local record = redis.call("HGET", KEYS[2], field)
  if record then
    redis.call("ZADD", KEYS[1], now + ARGV[1], field)
    taken[#taken + 1] = record
  else
    redis.call("ZREM", KEYS[1], field)
  end
end
return taken
