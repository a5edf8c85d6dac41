--[[
Marks change requests, to be taken from a time on; an earlier time stays.

KEYS[1]  sorted set to mark them in, scored by when their mark may be taken
KEYS[2]  hash: the mark of each
KEYS[3]  how many marks were set
ARGV[1]  the time, in ms
ARGV[2..] of each change request its field, then its record as JSON
]]
local due = tonumber(ARGV[1])
for i = 2, #ARGV, 2 do
  local turn = redis.call("INCR", KEYS[3])
  redis.call("HSET", KEYS[2], ARGV[i], '{"v":1,"turn":' .. turn .. ',"change":' .. ARGV[i + 1] .. "}")
  local earlier = redis.call("ZSCORE", KEYS[1], ARGV[i])
  if not earlier or tonumber(earlier) > due then redis.call("ZADD", KEYS[1], due, ARGV[i]) end
end
return #ARGV
