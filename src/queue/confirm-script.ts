/**
 * Confirms an event that is accepted; one that has come to its end stays as it is, however late this comes.
 *
 * KEYS[1]  the event's name
 * ARGV[1]  value of a name that was accepted
 * ARGV[2]  value of a name that is confirmed
 */
export const CONFIRM_SCRIPT = `
if redis.call("GET", KEYS[1]) == ARGV[1] then redis.call("SET", KEYS[1], ARGV[2], "KEEPTTL") end
`;
