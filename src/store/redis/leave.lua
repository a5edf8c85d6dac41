--[[
Takes a change request out of the queue for a lock, whichever version of this service put it there.

KEYS[1]  the queue: a sorted set of records
ARGV[1]  host of the change request
ARGV[2]  its repository
ARGV[3]  its number
ARGV[4]  id of its repository, which counts instead of the name where the record has one as well; empty: not known

Returns how many records were removed
]]
local function is_same(change)
  if type(change) ~= "table" or change.host ~= ARGV[1] or change.number ~= tonumber(ARGV[3]) then return false end
  if ARGV[4] == "" or change.repositoryId == nil then return change.repository == ARGV[2] end
  return change.repositoryId == ARGV[4]
end
local removed = 0
for _, text in ipairs(redis.call("ZRANGE", KEYS[1], 0, -1)) do
  local readable, record = pcall(cjson.decode, text)
  if readable and type(record) == "table" and is_same(record.change) then
    removed = removed + redis.call("ZREM", KEYS[1], text)
  end
end
return removed
