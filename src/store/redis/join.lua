--[[
Puts a change request at the end of the queue for a lock, unless it is in it.

KEYS[1]  the queue: a sorted set of records, scored by the order in which they joined
ARGV[1]  host of the change request
ARGV[2]  its repository
ARGV[3]  its number
ARGV[4]  its record
ARGV[5]  how many records the queue may have
ARGV[6]  how long the queue is kept from now, in ms

Returns its place, counted from 1; 0 if the queue is full: nothing was written
]]
local records = redis.call("ZRANGE", KEYS[1], 0, -1)
local place
for i, text in ipairs(records) do
  -- Another version of this service writes another text for the same change request.
  local readable, record = pcall(cjson.decode, text)
  local change = readable and type(record) == "table" and record.change
  if type(change) == "table" and change.host == ARGV[1] and change.repository == ARGV[2]
    and change.number == tonumber(ARGV[3])
  then
    place = i
    break
  end
end
if not place then
  if #records >= tonumber(ARGV[5]) then return 0 end
  local last = redis.call("ZRANGE", KEYS[1], -1, -1, "WITHSCORES")
  redis.call("ZADD", KEYS[1], (tonumber(last[2]) or 0) + 1, ARGV[4])
  place = #records + 1
end
redis.call("PEXPIRE", KEYS[1], ARGV[6])
return place
