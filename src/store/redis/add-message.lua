--[[
Keeps a message for a receiver, unless it was kept before.

KEYS[1]  the id of the message
KEYS[2]  sorted set: ids of waiting messages, scored by when each may be taken
KEYS[3]  hash: the record of each
ARGV[1]  id
ARGV[2]  record
ARGV[3]  how long ids are kept, and messages of a receiver that is gone, in ms; longer than any message is tried

Returns 1 if it is new, else 0.
]]
if not redis.call("SET", KEYS[1], '{"v":1}', "NX", "PX", ARGV[3]) then return 0 end
redis.call("HSET", KEYS[3], ARGV[1], ARGV[2])
local time = redis.call("TIME")
redis.call("ZADD", KEYS[2], time[1] * 1000 + math.floor(time[2] / 1000), ARGV[1])
for i = 2, 3 do redis.call("PEXPIRE", KEYS[i], ARGV[3]) end
return 1
