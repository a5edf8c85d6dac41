/**
 * Renews the lease of a run unless it has ended or another one has taken it since; one that nobody took is taken back,
 * also from a Redis that has forgotten of it.
 *
 * KEYS[1]  hash of the change request
 * KEYS[2]  the lease
 * ARGV[1]  fence of the run
 * ARGV[2]  how long the lease holds from now, in milliseconds
 *
 * Output: { outcome, stop }
 *   "kept"  with the reason why the run is asked to stop, or empty
 *   "lost"
 */
export const RENEW_SCRIPT = `
local fence = redis.call("HGET", KEYS[1], "fence")
if not fence or tonumber(fence) < tonumber(ARGV[1]) then
  redis.call("HSET", KEYS[1], "fence", ARGV[1], "running", ARGV[1])
elseif fence ~= ARGV[1] or redis.call("HGET", KEYS[1], "running") ~= ARGV[1] then
  return { "lost", "" }
end
redis.call("SET", KEYS[2], ARGV[1], "PX", ARGV[2])
return { "kept", redis.call("HGET", KEYS[1], "stop") or "" }
`;
