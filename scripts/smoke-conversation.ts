import type { Forge } from "../sandbox/forge.js";
import type { SandboxWorld } from "../sandbox/world.js";
import { WEBHOOK_PATHS, type HostId } from "../src/names.js";
import { applicationResource, changeOf, repositoryOf } from "../test/scenarios/resources.js";

export const WEBHOOK_SECRET = "smoke-webhook-secret";
/** Long enough for worker threads to compare the manifests and to write the comment. */
const LONG = "x".repeat(400_000);
/** Time limit of one answer, in milliseconds: only for what hangs. */
const ANSWERED_WITHIN_MS = 120_000;

/** A change request on each host, from its plan to its merge, with the service that listens at `address`. */
export async function converse(world: SandboxWorld, address: string, say: (line: string) => void): Promise<void> {
  const forges: readonly (readonly [HostId, Forge | undefined])[] = [
    ["hosta", world.github],
    ["hostb", world.gitlab],
  ];
  for (const [host, forge] of forges) {
    if (forge === undefined) continue;
    const repository = `acme/${host}`;
    const name = `web-${host}`;
    const repoURL = `${forge.url}/${repository}.git`;
    await forge.createRepository(repository, repositoryOf([name], repoURL));
    for (const person of ["ana", "bo"]) forge.setAccess(repository, person, "write");
    world.argocd.addApplication(applicationResource(name, { repoURL }));
    forge.connect({ url: `${address}${WEBHOOK_PATHS[host]}`, secret: WEBHOOK_SECRET });
    const number = await forge.open({ repository, by: "ana", changes: changeOf([name], LONG) });
    await until(forge, repository, number, "plans it", ({ comments }) => holds(comments, "0 to create, 1 to update"));
    await forge.review(repository, number, "bo", "approve");
    await forge.comment(repository, number, "ana", "svc sync");
    await until(forge, repository, number, "deploys it", ({ comments }) => holds(comments, "✅ succeeded"));
    await until(forge, repository, number, "merges it", ({ state }) => state === "merged");
    say(`${forge.title}: planned, deployed and merged`);
  }
}

type Seen = ReturnType<Forge["changeRequest"]>;

function holds(comments: Seen["comments"], text: string): boolean {
  return comments.some(({ body }) => body.includes(text));
}

/** Looks again whenever the host has answered a request. @throws {Error} with the comments if it takes too long. */
async function until(
  forge: Forge,
  repository: string,
  number: number,
  what: string,
  isSo: (seen: Seen) => boolean,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const said = forge.changeRequest(repository, number).comments.map(({ body }) => body.slice(0, 2000));
      reject(new Error(`${forge.title}: nobody ${what} within ${ANSWERED_WITHIN_MS / 1000} s:\n${said.join("\n\n")}`));
    }, ANSWERED_WITHIN_MS);
  });
  let wake: () => void = () => undefined;
  const stop = forge.subscribe(() => wake());
  try {
    for (;;) {
      const answered = new Promise<void>((resolve) => (wake = resolve));
      if (isSo(forge.changeRequest(repository, number))) return;
      await Promise.race([answered, deadline]);
    }
  } finally {
    stop();
    clearTimeout(timer);
  }
}
