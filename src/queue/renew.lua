--[[
Renews the lease of a run, unless the run has ended or another one has started since. Also restores a lease that
Redis has lost with its data.

KEYS[1]  hash: the change request's state
KEYS[2]  the lease
ARGV[1]  fence of the run
ARGV[2]  how long the lease lasts from now, in ms

Returns { outcome, stop }
  "kept"  stop: why the run should stop; empty: it should not
  "lost"
]]
local fence = redis.call("HGET", KEYS[1], "fence")
if not fence or tonumber(fence) < tonumber(ARGV[1]) then
  redis.call("HSET", KEYS[1], "fence", ARGV[1], "running", ARGV[1])
elseif fence ~= ARGV[1] or redis.call("HGET", KEYS[1], "running") ~= ARGV[1] then
  return { "lost", "" }
end
redis.call("SET", KEYS[2], ARGV[1], "PX", ARGV[2])
return { "kept", redis.call("HGET", KEYS[1], "stop") or "" }
