--[[
Enters names into the index of a kind of keys, by Redis's clock.

KEYS[1]  the index: a sorted set of names, scored by when each was entered last, in ms since 1970
ARGV     the names

Returns how many are new
]]
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local new = 0
for _, name in ipairs(ARGV) do new = new + redis.call("ZADD", KEYS[1], now, name) end
return new
