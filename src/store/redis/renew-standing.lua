--[[
Replaces a person's standing, or ends the login, if nobody has changed the standing since it was read.

KEYS[1]  the person's record, a hash
KEYS[2]  the standing
ARGV[1]  the standing as it was read
ARGV[2]  the new one, which is kept as long as the old one; empty: the login ends
ARGV[3]  the new profile; empty: the old one stays

Returns 1 if it was replaced.
]]
if redis.call("GET", KEYS[2]) ~= ARGV[1] then return 0 end
if ARGV[2] == "" then
  redis.call("DEL", KEYS[2])
  redis.call("HDEL", KEYS[1], "profile")
  return 1
end
redis.call("SET", KEYS[2], ARGV[2], "KEEPTTL")
if ARGV[3] ~= "" and redis.call("HEXISTS", KEYS[1], "profile") == 1 then
  redis.call("HSET", KEYS[1], "profile", ARGV[3])
end
return 1
