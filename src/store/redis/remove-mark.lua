--[[
Removes a mark, unless it was set again since it was taken.

KEYS[1]  sorted set: marked change requests, scored by when their mark may be taken
KEYS[2]  hash: the mark of each
ARGV[1]  field of the change request
ARGV[2]  how its record begins if it was not set again

Returns 1 if it was removed, else 0.
]]
local record = redis.call("HGET", KEYS[2], ARGV[1])
if not record or string.sub(record, 1, #ARGV[2]) ~= ARGV[2] then return 0 end
redis.call("ZREM", KEYS[1], ARGV[1])
redis.call("HDEL", KEYS[2], ARGV[1])
return 1
