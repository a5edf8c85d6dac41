--[[
Ends a lease if it is still the caller's.

KEYS[1]  the lease
ARGV[1]  the caller's token

Returns 1 if it was, or else 0
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call("DEL", KEYS[1])
