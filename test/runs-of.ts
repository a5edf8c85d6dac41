/** Runs of a property: half of `full` in `npm test`, all of them in `npm run test:nightly`. */
export function runsOf(full: number): number {
  return process.env.SVC_NIGHTLY === "1" ? full : Math.ceil(full / 2);
}
