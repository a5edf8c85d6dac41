--[[
Puts a change request at the end of the queue for a lock, unless it is in it, or before all others. A record that it has is replaced.

KEYS[1]  the queue: a sorted set of records, scored by the order in which they joined
ARGV[1]  host of the change request
ARGV[2]  its repository
ARGV[3]  its number
ARGV[4]  id of its repository, which counts instead of the name where the record has one as well; empty: not known
ARGV[5]  its record, without the closing brace: the time since when it waits is added, in ms since 1970
ARGV[6]  how many records the queue may have
ARGV[7]  how long the queue is kept from now, in ms
ARGV[8]  "first": before all others, also in a full queue; otherwise "last"

Returns its place, counted from 1; 0 if the queue is full: nothing was written
]]
local records = redis.call("ZRANGE", KEYS[1], 0, -1)
local time = redis.call("TIME")
local own = ARGV[5] .. string.format(',"since":%.0f}', time[1] * 1000 + math.floor(time[2] / 1000))
local place
local function is_same(change)
  if type(change) ~= "table" or change.host ~= ARGV[1] or change.number ~= tonumber(ARGV[3]) then return false end
  if ARGV[4] == "" or change.repositoryId == nil then return change.repository == ARGV[2] end
  return change.repositoryId == ARGV[4]
end
for i, text in ipairs(records) do
  -- Another version of this service writes another text for the same change request.
  local readable, record = pcall(cjson.decode, text)
  if readable and type(record) == "table" and is_same(record.change) then
    place = i
    -- It has waited since it joined; an older version has not stored when that was.
    own = ARGV[5] .. (type(record.since) == "number" and string.format(',"since":%.0f}', record.since) or "}")
    -- A record with an id keeps it.
    if ARGV[4] == "" then own = text end
    if text ~= own then
      redis.call("ZADD", KEYS[1], redis.call("ZSCORE", KEYS[1], text), own)
      redis.call("ZREM", KEYS[1], text)
    end
    break
  end
end
if ARGV[8] == "first" then
  if place ~= 1 then
    local front = redis.call("ZRANGE", KEYS[1], 0, 0, "WITHSCORES")
    redis.call("ZADD", KEYS[1], (tonumber(front[2]) or 1) - 1, own)
  end
  place = 1
elseif not place then
  if #records >= tonumber(ARGV[6]) then return 0 end
  local last = redis.call("ZRANGE", KEYS[1], -1, -1, "WITHSCORES")
  redis.call("ZADD", KEYS[1], (tonumber(last[2]) or 0) + 1, own)
  place = #records + 1
end
redis.call("PEXPIRE", KEYS[1], ARGV[7])
return place
