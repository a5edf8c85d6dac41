--[[
Takes the lease of a change request and starts its next event, which stays at the head of the list until its run ends.

KEYS[1]  list: the change request's events
KEYS[2]  hash: the change request's state
KEYS[3]  sorted set: change requests with events
KEYS[4]  the lease: holds the fence of the run that has it
ARGV[1]  key of the change request
ARGV[2]  how long the lease lasts unless it is renewed, in ms
ARGV[3]  how long the state of a change request without events is kept, in ms

Returns { outcome, now, fence, record, starts, kills, failures }
  "taken"  the event is started for the nth time (starts), after so many runs that ended without a word (kills) and so
           many that failed (failures); the fence is higher than that of any run before
  "held"   another run has the lease
  "empty"  there are no events
]]
local time = redis.call("TIME")
local now = tostring(time[1] * 1000 + math.floor(time[2] / 1000))
if redis.call("EXISTS", KEYS[4]) == 1 then return { "held", now } end

local function kind_of(text)
  local readable, value = pcall(cjson.decode, text)
  if readable and type(value) == "table" and value.v == 1 and type(value.event) == "table" then return value.event.kind end
  return ""
end
local entries = redis.call("LRANGE", KEYS[1], 0, -1)
local first = 1
if entries[1] and kind_of(entries[1]) == "updated" then
  -- An update whose run was interrupted may have been superseded meanwhile.
  for i = 2, #entries do
    local kind = kind_of(entries[i])
    if kind == "updated" or kind == "closed" then first = 2 end
  end
end
if first == 2 then
  redis.call("LPOP", KEYS[1])
  redis.call("HDEL", KEYS[2], "starts")
end
local head = entries[first]
local killed = redis.call("HEXISTS", KEYS[2], "running") == 1
redis.call("HDEL", KEYS[2], "running", "stop")
if not head then
  redis.call("HDEL", KEYS[2], "starts")
  redis.call("ZREM", KEYS[3], ARGV[1])
  redis.call("PEXPIRE", KEYS[2], ARGV[3])
  return { "empty", now }
end
-- By the time: a failover may have lost the fence of a run that still lives, which must not be given twice.
local last = tonumber(redis.call("HGET", KEYS[2], "fence") or "0")
local fence = string.format("%.0f", math.max(last + 1, tonumber(now)))
redis.call("SET", KEYS[4], fence, "PX", ARGV[2])
redis.call("HSET", KEYS[2], "fence", fence, "running", fence)
local starts = redis.call("HINCRBY", KEYS[2], "starts", 1)
if starts == 1 then
  redis.call("HDEL", KEYS[2], "kills", "failures")
elseif killed then
  redis.call("HINCRBY", KEYS[2], "kills", 1)
end
local kills = redis.call("HGET", KEYS[2], "kills") or "0"
local failures = redis.call("HGET", KEYS[2], "failures") or "0"
return { "taken", now, fence, head, tostring(starts), kills, failures }
