--[[
Takes a name whose key is gone out of an index, unless it was entered again: then its key may be about to be written.

KEYS[1]  the index: a sorted set of names, scored by when each was entered last, in ms since 1970
ARGV[1]  the name
ARGV[2]  its score before the key was looked for
ARGV[3]  how long ago it must have been entered, in ms

Returns 1 if it was taken out, or else 0
]]
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local entered = redis.call("ZSCORE", KEYS[1], ARGV[1])
if not entered or tonumber(entered) ~= tonumber(ARGV[2]) or now - tonumber(entered) < tonumber(ARGV[3]) then return 0 end
return redis.call("ZREM", KEYS[1], ARGV[1])
