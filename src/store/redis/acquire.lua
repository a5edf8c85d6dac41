--[[
Takes a free lock, or that of a change request that the caller names, refreshes the caller's own, or returns the holder's.

The caller builds every part of the record that contains a number: Lua only copies strings from the old record into the
new one, which cjson encodes without loss.

KEYS[1]  the lock of the application
ARGV[1]  host of the caller's change request
ARGV[2]  its repository
ARGV[3]  its number
ARGV[4]  id of its repository, which counts instead of the name where the record has one as well; empty: not known
ARGV[5]  beginning of the new record: a JSON object without its closing brace, up to and including `user`
ARGV[6]  timestamp, used if the lock is free
ARGV[7]  plan revision; empty: keep the lock's
ARGV[8]  source file; empty: none, or the lock's if the plan revision is kept
ARGV[9]  lifetime in ms
ARGV[10..13]  the same as ARGV[1..4] of a change request whose lock is taken as if it were free; none: nobody's

Returns { outcome, record }
  "acquired"    the lock was free or taken over, and is now the caller's
  "refreshed"   it was the caller's already
  "held"        another change request has it; nothing was written
  "unreadable"  the stored value is not a record of version 1; nothing was written
]]
local current = redis.call("GET", KEYS[1])
local repository_id, timestamp, plan_revision, source_file = ARGV[4], ARGV[6], ARGV[7], ARGV[8]

if current then
  local readable, record = pcall(cjson.decode, current)
  if not readable or type(record) ~= "table" or record.v ~= 1
    or type(record.host) ~= "string" or type(record.repository) ~= "string" or type(record.pr_number) ~= "number"
    or type(record.timestamp) ~= "string" or type(record.plan_revision) ~= "string"
    or not (record.source_file == nil or type(record.source_file) == "string")
    or not (record.repository_id == nil or type(record.repository_id) == "string")
  then
    return { "unreadable", current }
  end
  local function held_by(host, repository, number, id)
    if record.host ~= host or record.pr_number ~= tonumber(number) then return false end
    if id == "" or record.repository_id == nil then return record.repository == repository end
    return record.repository_id == id
  end
  if held_by(ARGV[1], ARGV[2], ARGV[3], ARGV[4]) then
    timestamp = record.timestamp
    if repository_id == "" then repository_id = record.repository_id or "" end
    if plan_revision == "" then
      plan_revision = record.plan_revision
      if source_file == "" then source_file = record.source_file or "" end
    end
  elseif ARGV[10] and held_by(ARGV[10], ARGV[11], ARGV[12], ARGV[13]) then
    current = false
  else
    return { "held", current }
  end
end

local record = ARGV[5]
  .. ',"timestamp":' .. cjson.encode(timestamp)
  .. ',"plan_revision":' .. cjson.encode(plan_revision)
if source_file ~= "" then record = record .. ',"source_file":' .. cjson.encode(source_file) end
if repository_id ~= "" then record = record .. ',"repository_id":' .. cjson.encode(repository_id) end
record = record .. "}"
redis.call("SET", KEYS[1], record, "PX", ARGV[9])
return { current and "refreshed" or "acquired", record }
