/**
 * Takes the lease of a change request and its next event, which stays at the head of the list until it ended. Atomic.
 *
 * KEYS[1]  list of the change request's events
 * KEYS[2]  hash of the change request
 * KEYS[3]  sorted set of change requests with work
 * KEYS[4]  the lease; its value is the fence of the run that has it
 * ARGV[1]  the change request
 * ARGV[2]  how long the lease holds unless it is renewed, in milliseconds
 * ARGV[3]  how long the hash of a change request without events is kept, in milliseconds
 *
 * Output: { outcome, now, fence, starts, record }
 *   "taken"  the event's run has begun for the nth time; the fence is higher than that of every run before
 *   "held"   another run has the lease
 *   "empty"  there is nothing to do
 */
export const TAKE_SCRIPT = `
local time = redis.call("TIME")
local now = tostring(time[1] * 1000 + math.floor(time[2] / 1000))
if redis.call("EXISTS", KEYS[4]) == 1 then return { "held", now, "", "", "" } end

local function decoded(text)
  local readable, value = pcall(cjson.decode, text)
  if readable and type(value) == "table" and value.v == 1 then return value.event.kind end
  return ""
end
local entries = redis.call("LRANGE", KEYS[1], 0, -1)
local first = 1
if entries[1] and decoded(entries[1]) == "updated" then
  -- Cut off while it ran, and superseded since.
  for i = 2, #entries do
    local kind = decoded(entries[i])
    if kind == "updated" or kind == "closed" then first = 2 end
  end
end
if first == 2 then
  redis.call("LPOP", KEYS[1])
  redis.call("HDEL", KEYS[2], "starts")
end
local head = entries[first]
redis.call("HDEL", KEYS[2], "running", "stop")
if not head then
  redis.call("HDEL", KEYS[2], "scheduled", "starts")
  redis.call("ZREM", KEYS[3], ARGV[1])
  redis.call("PEXPIRE", KEYS[2], ARGV[3])
  return { "empty", now, "", "", "" }
end
local fence = tostring(redis.call("HINCRBY", KEYS[2], "fence", 1))
redis.call("SET", KEYS[4], fence, "PX", ARGV[2])
redis.call("HSET", KEYS[2], "running", fence)
local starts = tostring(redis.call("HINCRBY", KEYS[2], "starts", 1))
return { "taken", now, fence, starts, head }
`;
