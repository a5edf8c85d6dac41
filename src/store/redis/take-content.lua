--[[
Counts one write of content if every limit leaves room for it.

KEYS[1]  the account's writes: a sorted set of "<rank>:<id>" by time in ms since 1970
ARGV[1]  rank of the write
ARGV[2]  an id that no other write has
ARGV[3]  then for each limit: its window in ms, how many writes it allows, and up to which rank it counts

Returns { outcome, ms }
  "taken"  the write was counted; 0
  "full"   nothing was counted; the time until there may be room
]]
local time = redis.call("TIME")
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local longest = 0
for at = 3, #ARGV, 3 do longest = math.max(longest, tonumber(ARGV[at])) end
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now - longest)
local writes = redis.call("ZRANGE", KEYS[1], 0, -1, "WITHSCORES")

local free_at = now
for at = 3, #ARGV, 3 do
  local window, left, rank = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  for newest = #writes - 1, 1, -2 do
    local written_at = tonumber(writes[newest + 1])
    if written_at <= now - window then break end
    if tonumber(string.match(writes[newest], "^%d+")) <= rank then
      left = left - 1
      if left == 0 then
        free_at = math.max(free_at, written_at + window)
        break
      end
    end
  end
end
if free_at > now then return { "full", free_at - now } end

redis.call("ZADD", KEYS[1], now, ARGV[1] .. ":" .. ARGV[2])
redis.call("PEXPIRE", KEYS[1], longest)
return { "taken", 0 }
