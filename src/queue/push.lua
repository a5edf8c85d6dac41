--[[
Accepts an event: appends it to its change request's list and removes the waiting events that it supersedes.
Repeating the call is safe: it answers "known".

KEYS[1]   list: the change request's events, the running one first
KEYS[2]   hash: the change request's state (fence, running, stop, and of its first event: starts, kills, failures)
KEYS[3]   sorted set: change requests with events, scored by the time they got work, or by when a retry may start
KEYS[4..] the event's ids, one key each
ARGV[1]   record of the event; `"again":false` comes before anything else that could contain that text
ARGV[2]   key of the change request
ARGV[3]   why the running event should stop; empty: it should not, and no waiting event is superseded
ARGV[4]   value of an id that was accepted
ARGV[5]   how long ids are kept, in ms
ARGV[6]   deadline in ms of Redis's clock; after it, the event has been refused

Returns { outcome, now, first, superseded records... }
  "accepted"  first: "1" if another event than before is the next one of the change request, so that the caller announces it
  "known"     the event was accepted before and did not fail, or a newer version of this service wrote an id
  "late"      the deadline has passed; nothing was written
]]
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record = ARGV[1]
for i = 4, #KEYS do
  local known = redis.call("GET", KEYS[i])
  if known then
    local readable, value = pcall(cjson.decode, known)
    if not readable or type(value) ~= "table" or value.v ~= 1 or value.state ~= "failed" then
      return { "known", tostring(now), "" }
    end
    record = string.gsub(ARGV[1], '"again":false', '"again":true', 1)
  end
end
if now > tonumber(ARGV[6]) then return { "late", tostring(now), "" } end
for i = 4, #KEYS do redis.call("SET", KEYS[i], ARGV[4], "PX", ARGV[5]) end

local answer = { "accepted", tostring(now), "" }
if ARGV[3] ~= "" then
  local running = redis.call("HEXISTS", KEYS[2], "running") == 1
  for i, waiting in ipairs(redis.call("LRANGE", KEYS[1], 0, -1)) do
    -- A search of the text costs a fifth of decoding it and rules out most events.
    if string.find(waiting, '"kind":"updated"', 1, true) and not (running and i == 1) then
      local readable, value = pcall(cjson.decode, waiting)
      if readable and type(value) == "table" and value.v == 1 and type(value.event) == "table" and value.event.kind == "updated" then
        redis.call("LREM", KEYS[1], 1, waiting)
        answer[#answer + 1] = waiting
        if i == 1 then
          -- It had failed and waited for its retry: neither its runs nor its pause are those of the next event.
          redis.call("HDEL", KEYS[2], "starts")
          redis.call("ZREM", KEYS[3], ARGV[2])
        end
      end
    end
  end
  if running then redis.call("HSETNX", KEYS[2], "stop", ARGV[3]) end
end
redis.call("RPUSH", KEYS[1], record)
redis.call("PERSIST", KEYS[2])
if redis.call("ZADD", KEYS[3], "NX", now, ARGV[2]) == 1 then answer[3] = "1" end
return answer
