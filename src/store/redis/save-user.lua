--[[
Writes one field of a user's record and sets how long the record is kept. A record to which an admin gave the role `user`
is kept for good.

KEYS[1]  the record, a hash
KEYS[2]  the person's standing
KEYS[3]  and further ones: records of other people, one of whom has to be an admin if this write takes that role away
ARGV[1]  "profile", or "role" (the one that an admin gave; nothing is written without a profile)
ARGV[2]  value of this field
ARGV[3]  how long to keep the record at least, in ms
ARGV[4]  with "role": the role in ARGV[2]. With "profile": the standing; empty for none
ARGV[5]  with "profile": how long to keep the standing, in ms

Returns { profile, role }
  profile  empty if there is none; "last-admin" if nothing was written because nobody else is an admin
  role     empty if no admin gave one
]]
local function given_role(record)
  local readable, given = pcall(cjson.decode, redis.call("HGET", record, "role") or "{}")
  return readable and type(given) == "table" and given.role or nil
end

local function is_admin(record)
  local profile = redis.call("HGET", record, "profile")
  if not profile then return false end
  local given = given_role(record)
  if given then return given == "admin" end
  local readable, known = pcall(cjson.decode, profile)
  return readable and type(known) == "table" and known.role == "admin"
end

local function someone_else_is_admin()
  for index = 3, #KEYS do
    if is_admin(KEYS[index]) then return true end
  end
  return false
end

if ARGV[1] == "role" then
  if redis.call("HEXISTS", KEYS[1], "profile") == 0 then return { "", "" } end
  if ARGV[4] == "user" and is_admin(KEYS[1]) and not someone_else_is_admin() then return { "last-admin", "" } end
elseif ARGV[4] == "" then
  redis.call("DEL", KEYS[2])
else
  redis.call("SET", KEYS[2], ARGV[4], "PX", ARGV[5])
end
redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
local role = redis.call("HGET", KEYS[1], "role")
local readable, given = pcall(cjson.decode, role or "{}")
if not readable or type(given) ~= "table" or given.role == "user" then
  redis.call("PERSIST", KEYS[1])
elseif redis.call("PTTL", KEYS[1]) < tonumber(ARGV[3]) then
  redis.call("PEXPIRE", KEYS[1], ARGV[3])
end
return { redis.call("HGET", KEYS[1], "profile"), role or "" }
