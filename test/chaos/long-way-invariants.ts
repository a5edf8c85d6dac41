import type { SeenChangeRequest } from "../../sandbox/forge.js";
import { readMarker } from "../../src/comments/marker.js";
import type { Aftermath } from "./invariants.js";
import type { Gone } from "./long-way.js";
import { type Place, placeKey, REPOSITORY } from "./observer.js";
import { type Outside, SOAK_MS } from "./outside.js";

/** What must not be on the ways through stages, merge, rollout and revert: something lost, or done twice. */
export async function wrongOnLongWays(
  ways: readonly Gone[],
  outside: Outside,
  after: Aftermath,
): Promise<readonly string[]> {
  const wrong = await Promise.all(
    ways.map(async (gone) => {
      const lost = gone.missing === undefined ? [] : [`${gone.missing} did not come`];
      const found = [
        ...lost,
        ...wrongStages(gone, after),
        ...(await wrongRollout(gone, outside, after)),
        ...(await wrongReverts(gone, outside)),
      ];
      return found.map((one) => `the long way on ${gone.host}: ${one}`);
    }),
  );
  return wrong.flat();
}

/** Each stage is deployed once, in order, and the second after the soak. */
function wrongStages(gone: Gone, { observer }: Aftermath): readonly string[] {
  const { dev, prod } = gone.applications;
  const synced = observer.syncs.filter(
    ({ change, dryRun }) => change === placeKey({ host: gone.host, number: gone.staged }) && !dryRun,
  );
  const order = synced.map(({ application }) => application);
  const [first, second] = synced;
  const soaked = first === undefined || second === undefined ? SOAK_MS : second.time - first.time;
  const whole = gone.missing !== undefined || order.join(" ") === `${dev} ${prod}`;
  const partly = [dev, prod].slice(0, order.length).join(" ") === order.join(" ");
  return [
    ...(whole && partly ? [] : [`its stages were synced as: ${order.join(", ")}`]),
    ...(soaked >= SOAK_MS ? [] : [`its second stage began ${soaked} ms after its first`]),
  ];
}

/** The end of its rollout is in the audit trail, the messages and the comments once. */
async function wrongRollout(
  gone: Gone,
  { forges, receiver }: Outside,
  { observer }: Aftermath,
): Promise<readonly string[]> {
  const place = { host: gone.host, number: gone.followed };
  const seen = forges[gone.host].changeRequest(REPOSITORY, gone.followed);
  if (seen.state !== "merged" || gone.missing !== undefined) return [];
  const audited = await observer.audited(placeKey(place), "rolled-out");
  const messages = receiver.messages.filter(({ body }) => isAbout(body, place));
  const ids = new Set(messages.map(({ headers }) => headers["webhook-id"]));
  const failed = messages.some(({ body }) => body.includes("rollout_failed"));
  const failures = seen.comments.filter(({ body }) => readMarker(body)?.kind === "rollout");
  const plans = seen.comments.filter(({ body }) => /✅ \*\*After the merge\*\*|❌ \*\*After the merge\*\*/.test(body));
  return [
    ...(audited.length === 1 ? [] : [`the end of its rollout is in the audit trail ${audited.length} times`]),
    ...(ids.size === 1 ? [] : [`receivers were told of the end of its rollout by ${ids.size} messages`]),
    ...(failures.length === (failed ? 1 : 0) ? [] : [`${failures.length} comments say that its rollout failed`]),
    ...(plans.length === 1 ? [] : [`${plans.length} comments say how its rollout ended`]),
  ];
}

interface Message {
  readonly data: { readonly change?: { readonly host: string; readonly number: number } };
}

function isAbout(body: string, { host, number }: Place): boolean {
  const { change } = (JSON.parse(body) as Message).data;
  return change?.host === host && change.number === number;
}

/** One revert was opened, and none of its branches is left without one. */
async function wrongReverts(gone: Gone, { forges }: Outside): Promise<readonly string[]> {
  const forge = forges[gone.host];
  const all = changeRequestsOf((number) => forge.changeRequest(REPOSITORY, number));
  const { title } = forge.changeRequest(REPOSITORY, gone.staged);
  const reverts = all.filter((one) => one.title === `Revert "${title}"`);
  const known = new Set(all.map(({ headBranch }) => headBranch));
  const branches = await forge.branches(REPOSITORY);
  const stray = branches.filter((name) => /^(?:svc-)?revert-/.test(name) && !known.has(name));
  return [
    ...(reverts.length === (gone.revert === undefined ? 0 : 1) ? [] : [`${reverts.length} reverts were opened`]),
    ...stray.map((name) => `the branch ${name} was left behind`),
  ];
}

function changeRequestsOf(read: (number: number) => SeenChangeRequest): readonly SeenChangeRequest[] {
  const found: SeenChangeRequest[] = [];
  for (let number = 1; ; number += 1) {
    try {
      found.push(read(number));
    } catch {
      return found;
    }
  }
}
