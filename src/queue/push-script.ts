/**
 * Accepts an event: puts it at the end of its change request's list, takes out what it makes needless, and says whether
 * a job is to be added. Atomic; running it again answers "known".
 *
 * KEYS[1]  list of the change request's events, the running one first
 * KEYS[2]  hash of the change request: fence, generation, scheduled, running, starts, stop
 * KEYS[3]  sorted set of change requests with work, by the time since when
 * KEYS[4…] the event's names, one key each
 * ARGV[1]  the event's record, which says `"again":false` before all else that could say so
 * ARGV[2]  the change request
 * ARGV[3]  why a running event is asked to stop by this one; empty: it is not, and nothing becomes needless
 * ARGV[4]  value of a name that was accepted
 * ARGV[5]  how long names are kept, in milliseconds
 * ARGV[6]  the latest time to accept it, in milliseconds of Redis's clock: after it the sender was told otherwise
 *
 * Output: { outcome, now, generation, records taken out … }
 *   "accepted"  with a generation: a job is to be added for it
 *   "known"     it was accepted before and did not fail, or a newer version of the service knows it
 *   "late"      nothing was written
 */
export const PUSH_SCRIPT = `
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
    -- Most are something else, which the text tells for a fifth of the price.
    if string.find(waiting, '"kind":"updated"', 1, true) and not (running and i == 1) then
      local readable, value = pcall(cjson.decode, waiting)
      if readable and type(value) == "table" and value.v == 1 and value.event.kind == "updated" then
        redis.call("LREM", KEYS[1], 1, waiting)
        answer[#answer + 1] = waiting
      end
    end
  end
  if running then redis.call("HSETNX", KEYS[2], "stop", ARGV[3]) end
end
redis.call("RPUSH", KEYS[1], record)
redis.call("PERSIST", KEYS[2])
if redis.call("HEXISTS", KEYS[2], "scheduled") == 0 then
  answer[3] = tostring(redis.call("HINCRBY", KEYS[2], "generation", 1))
  redis.call("HSET", KEYS[2], "scheduled", answer[3])
  redis.call("ZADD", KEYS[3], now, ARGV[2])
end
return answer
`;
