--[[
Takes a free lock, or that of a change request that the caller names, refreshes the caller's own, or returns the holder's.

The caller builds every part of the record that contains a number: Lua only copies strings from the old record into the
new one, which cjson encodes without loss.

KEYS[1]  the lock of the application
ARGV[1]  host of the caller's change request
ARGV[2]  its repository
ARGV[3]  its number
ARGV[4]  beginning of the new record: a JSON object without its closing brace, up to and including `user`
ARGV[5]  timestamp, used if the lock is free
ARGV[6]  plan revision; empty: keep the lock's
ARGV[7]  source file; empty: none, or the lock's if the plan revision is kept
ARGV[8]  lifetime in ms
ARGV[9..11]  host, repository and number of a change request whose lock is taken as if it were free; none: nobody's

Returns { outcome, record }
  "acquired"    the lock was free or taken over, and is now the caller's
  "refreshed"   it was the caller's already
  "held"        another change request has it; nothing was written
  "unreadable"  the stored value is not a record of version 1; nothing was written
]]
local current = redis.call("GET", KEYS[1])
local timestamp, plan_revision, source_file = ARGV[5], ARGV[6], ARGV[7]

if current then
  local readable, record = pcall(cjson.decode, current)
  if not readable or type(record) ~= "table" or record.v ~= 1
    or type(record.host) ~= "string" or type(record.repository) ~= "string" or type(record.pr_number) ~= "number"
    or type(record.timestamp) ~= "string" or type(record.plan_revision) ~= "string"
    or not (record.source_file == nil or type(record.source_file) == "string")
  then
    return { "unreadable", current }
  end
  local function held_by(host, repository, number)
    return record.host == host and record.repository == repository and record.pr_number == tonumber(number)
  end
  if held_by(ARGV[1], ARGV[2], ARGV[3]) then
    timestamp = record.timestamp
    if plan_revision == "" then
      plan_revision = record.plan_revision
      if source_file == "" then source_file = record.source_file or "" end
    end
  elseif ARGV[9] and held_by(ARGV[9], ARGV[10], ARGV[11]) then
    current = false
  else
    return { "held", current }
  end
end

local record = ARGV[4]
  .. ',"timestamp":' .. cjson.encode(timestamp)
  .. ',"plan_revision":' .. cjson.encode(plan_revision)
if source_file ~= "" then record = record .. ',"source_file":' .. cjson.encode(source_file) end
record = record .. "}"
redis.call("SET", KEYS[1], record, "PX", ARGV[8])
return { current and "refreshed" or "acquired", record }
