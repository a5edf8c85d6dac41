--[[
Removes the record of a deployment if it is of this Application.

KEYS[1]  the records of an application
ARGV[1]  the field of the change request
ARGV[2]  uid of the Application

Returns how many records were removed; one that cannot be read stays
]]
local readable, record = pcall(cjson.decode, redis.call("HGET", KEYS[1], ARGV[1]) or "")
local deployment = readable and type(record) == "table" and record.deployment
if type(deployment) ~= "table" or deployment.uid ~= ARGV[2] then return 0 end
return redis.call("HDEL", KEYS[1], ARGV[1])
