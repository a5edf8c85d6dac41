--[[
Announces change requests whose next event may start, and rings the bell if one was not announced yet.

KEYS[1]   sorted set: announced change requests, scored by when they were
ARGV[1]   channel of the bell
ARGV[2..] keys of the change requests
]]
local time = redis.call("TIME")
-- In microseconds: those with equal times would come in the order of their names.
local now = time[1] * 1000000 + time[2]
local added = 0
for i = 2, #ARGV do added = added + redis.call("ZADD", KEYS[1], "NX", now, ARGV[i]) end
if added > 0 then redis.call("PUBLISH", ARGV[1], "") end
return added
