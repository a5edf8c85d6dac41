--[[
Takes marks that are due, in the order of their times, and patient ones after all others: nobody else gets them before their
lease ends.

KEYS[1]  sorted set: change requests whose mark somebody waits for, scored by when it may be taken
KEYS[2]  sorted set: those with a patient mark, likewise. A change request may be in both
KEYS[3]  hash: the mark of each
ARGV[1]  the time, in ms
ARGV[2]  when the lease ends, in ms
ARGV[3]  how many at most

Returns { record, whether it is patient ("1" or ""), ... }
]]
local taken = {}
local left = tonumber(ARGV[3])
local function take(key, patient)
  for _, field in ipairs(redis.call("ZRANGEBYSCORE", key, "-inf", ARGV[1], "LIMIT", 0, left)) do
    local record = redis.call("HGET", KEYS[3], field)
    if record then
      redis.call("ZADD", key, ARGV[2], field)
      -- Its run does what both ask for.
      if patient == "" then redis.call("ZREM", KEYS[2], field) end
      taken[#taken + 1] = record
      taken[#taken + 1] = patient
      left = left - 1
    else
      redis.call("ZREM", KEYS[1], field)
      redis.call("ZREM", KEYS[2], field)
    end
  end
end
take(KEYS[1], "")
if left > 0 then take(KEYS[2], "1") end
return taken
