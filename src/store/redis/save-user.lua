--[[
Writes one field of a user's record and sets how long the record is kept. A record to which an admin gave the role `user`
is kept for good.

KEYS[1]  the record, a hash
ARGV[1]  "profile", or "role" (the one that an admin gave; nothing is written without a profile)
ARGV[2]  value of this field
ARGV[3]  how long to keep the record at least, in ms

Returns { profile, role }
  profile  empty if there is none
  role     empty if no admin gave one
]]
if ARGV[1] == "role" and redis.call("HEXISTS", KEYS[1], "profile") == 0 then return { "", "" } end
redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
local role = redis.call("HGET", KEYS[1], "role")
local readable, given = pcall(cjson.decode, role or "{}")
if not readable or type(given) ~= "table" or given.role == "user" then
  redis.call("PERSIST", KEYS[1])
elseif redis.call("PTTL", KEYS[1]) < tonumber(ARGV[3]) then
  redis.call("PEXPIRE", KEYS[1], ARGV[3])
end
return { redis.call("HGET", KEYS[1], "profile"), role or "" }
