--[[
Takes a change request out of the queue for a lock, whichever version of this service put it there.

KEYS[1]  the queue: a sorted set of records
ARGV[1]  host of the change request
ARGV[2]  its repository
ARGV[3]  its number

Returns how many records were removed
]]
local removed = 0
for _, text in ipairs(redis.call("ZRANGE", KEYS[1], 0, -1)) do
  local readable, record = pcall(cjson.decode, text)
  local change = readable and type(record) == "table" and record.change
  if type(change) == "table" and change.host == ARGV[1] and change.repository == ARGV[2]
    and change.number == tonumber(ARGV[3])
  then
    removed = removed + redis.call("ZREM", KEYS[1], text)
  end
end
return removed
