--[[
Removes a name whose key does not exist from an index, unless it was entered recently: its key may be written next.

KEYS[1]  the index: a sorted set of names, scored by when each was entered last, in ms since 1970
ARGV[1]  the name
ARGV[2]  how long ago it must have been entered, in ms

Returns 1 if it was removed, or else 0
]]
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local entered = redis.call("ZSCORE", KEYS[1], ARGV[1])
if not entered or now - tonumber(entered) < tonumber(ARGV[2]) then return 0 end
return redis.call("ZREM", KEYS[1], ARGV[1])
