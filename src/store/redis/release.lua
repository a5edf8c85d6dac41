--[[
Removes a lock if the caller's change request holds it.

KEYS[1]  the lock of the application
ARGV[1]  host of the caller's change request
ARGV[2]  its repository
ARGV[3]  its number
ARGV[4]  id of its repository, which counts instead of the name where the record has one as well; empty: not known

Returns { outcome, record }
  "released"    it was the caller's and is gone
  "free"        there was no lock; the record is empty
  "held"        another change request has it; it stays
  "unreadable"  the stored value is not a record of version 1; it stays
]]
local current = redis.call("GET", KEYS[1])
if not current then return { "free", "" } end

local readable, record = pcall(cjson.decode, current)
if not readable or type(record) ~= "table" or record.v ~= 1
  or type(record.host) ~= "string" or type(record.repository) ~= "string" or type(record.pr_number) ~= "number"
  or not (record.repository_id == nil or type(record.repository_id) == "string")
then
  return { "unreadable", current }
end
local by_name = ARGV[4] == "" or record.repository_id == nil
local same_repository = by_name and record.repository == ARGV[2] or not by_name and record.repository_id == ARGV[4]
if record.host ~= ARGV[1] or record.pr_number ~= tonumber(ARGV[3]) or not same_repository then
  return { "held", current }
end
redis.call("DEL", KEYS[1])
return { "released", current }
