--[[
Removes a mark that was taken, or sets it again for later as a patient one, unless it was set again since then.

KEYS[1]  sorted set: change requests whose mark somebody waits for, scored by when it may be taken
KEYS[2]  sorted set: those with a patient mark, likewise
KEYS[3]  hash: the mark of each
KEYS[4]  how many marks were set
ARGV[1]  field of the change request
ARGV[2]  how its record begins if it was not set again
ARGV[3]  when it may be taken again, in ms; empty: it is removed

Returns 1 if it was not set again, else 0.
]]
local record = redis.call("HGET", KEYS[3], ARGV[1])
if not record or string.sub(record, 1, #ARGV[2]) ~= ARGV[2] then return 0 end
if ARGV[3] ~= "" then
  -- Another turn, since the event of this one has run.
  local mark = '{"v":1,"turn":' .. redis.call("INCR", KEYS[4]) .. "," .. string.sub(record, #ARGV[2] + 1)
  redis.call("HSET", KEYS[3], ARGV[1], mark)
  redis.call("ZADD", KEYS[2], ARGV[3], ARGV[1])
  return 1
end
redis.call("ZREM", KEYS[1], ARGV[1])
redis.call("ZREM", KEYS[2], ARGV[1])
redis.call("HDEL", KEYS[3], ARGV[1])
return 1
