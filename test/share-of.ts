/** How many runs a property has, or how large its inputs are: an eighth of `full` in `npm test`, all in `npm run test:nightly`. */
export function shareOf(full: number): number {
  return process.env.SVC_NIGHTLY === "1" ? full : Math.ceil(full / 8);
}
