import { afterEach, expect } from "@jest/globals";
import type { FileChanges, Forge } from "../../sandbox/forge.js";
import { startSandbox, type SandboxWorld } from "../../sandbox/world.js";
import { repositoryName } from "../../src/core/model/brand.js";
import type { ChangeRequestRef } from "../../src/core/model/change-request.js";
import type { HostId } from "../../src/names.js";
import { startService, type Service } from "../../src/service/service.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import type { Stores } from "../../src/store/stores.js";
import { JumpClock } from "../jump-clock.js";
import { configFor, loggerFor, readingWith } from "../scenarios/bot-options.js";
import { HOSTS, REPOSITORY } from "../scenarios/bot.js";
import { applicationResource, configMap, repositoryOf } from "../scenarios/resources.js";
import { registerAuthorizations } from "../secrets-in-logs/secrets-of.js";
import { sharedPool } from "../workers/shared-pool.js";

/** The webhook secret of each host; they differ, as they should. */
export const SECRETS: Readonly<Record<HostId, string>> = { hosta: "the-secret-of-hosta", hostb: "the-secret-of-hostb" };

/** One service that serves both hosts, each with a repository of the same name. */
export interface TwoHosts {
  readonly world: SandboxWorld;
  readonly service: Service;
  readonly stores: Stores;
  readonly forges: Readonly<Record<HostId, Forge>>;
  idle(): Promise<void>;
  locked(change: ChangeRequestRef): Promise<readonly string[]>;
  /** What accounts did to real Applications, as `verb name`. */
  changes(): readonly string[];
  lastComment(host: HostId, number: number): string;
}

const running = new Set<() => Promise<void>>();

afterEach(async () => {
  const ends = [...running];
  running.clear();
  await Promise.all(ends.map((end) => end()));
});

export function refOn(host: HostId, number: number): ChangeRequestRef {
  return { host, repository: repositoryName(REPOSITORY), number };
}

/**
 * Starts the service with GitHub and GitLab. Both hold `acme/deploy` with the same files; the application `web` is that
 * of `owner`'s repository, and the other host's repository describes it too, as if it were its own. If it is `shared`, it
 * has a source in both: `apps/web` of the owner's, and `apps/more` of the other one.
 */
export async function startTwoHosts(owner: HostId, options: TwoHostsOptions = {}): Promise<TwoHosts> {
  const world = await startSandbox({ github: true, gitlab: true });
  try {
    return await furnish(world, owner, options);
  } catch (error) {
    await world.stop();
    throw error;
  }
}

interface TwoHostsOptions {
  readonly shared?: boolean;
  /** Of the live Application. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** More sections of `svc.yaml`. */
  readonly config?: Readonly<
    Record<string, Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[]>
  >;
}

async function furnish(
  world: SandboxWorld,
  owner: HostId,
  { shared = false, annotations, config = {} }: TwoHostsOptions,
): Promise<TwoHosts> {
  const { github, gitlab } = world;
  if (github === undefined || gitlab === undefined) throw new Error("the sandbox has not both code hosts");
  const forges = { hosta: github, hostb: gitlab };
  const repoURL = `${forges[owner].url}/${REPOSITORY}.git`;
  const other = `${forges[owner === "hosta" ? "hostb" : "hosta"].url}/${REPOSITORY}.git`;
  const sources = [
    { repoURL, path: "apps/web", targetRevision: "main" },
    { repoURL: other, path: "apps/more", targetRevision: "main" },
  ];
  const web = shared ? { spec: { source: undefined, sources } } : {};
  const more: FileChanges = shared ? { "apps/more/configmap.yaml": configMap("more", { value: "1" }) } : {};
  for (const forge of Object.values(forges)) {
    await forge.createRepository(REPOSITORY, { ...repositoryOf(["web"], repoURL, { web }), ...more });
    for (const login of ["ana", "bo"]) forge.setAccess(REPOSITORY, login, "write");
  }
  world.argocd.addApplication(applicationResource("web", { repoURL, ...web, ...(annotations && { annotations }) }));
  const clock = new JumpClock();
  const stores = createMemoryStores(clock);
  const options = {
    host: owner,
    config: { ...config, hosta: { webhook_secret: SECRETS.hosta }, hostb: { webhook_secret: SECRETS.hostb } },
  };
  const service = await startService(configFor(world, options), loggerFor(options), {
    clock,
    stores,
    compute: sharedPool(),
    ...readingWith({}, world),
  });
  for (const host of HOSTS) forges[host].connect({ url: `${service.url}/webhook/${host}`, secret: SECRETS[host] });
  const idle = () => settle(service, Object.values(forges));
  running.add(async () => {
    try {
      await idle();
      expect([...github.violations, ...gitlab.violations, ...world.argocd.violations]).toEqual([]);
      expect(world.argocd.temporaryApplications()).toEqual([]);
    } finally {
      for (const forge of Object.values(forges)) registerAuthorizations(forge.requests);
      await service.close();
      await world.stop();
    }
  });
  return {
    world,
    service,
    stores,
    forges,
    idle,
    locked: async (change) => (await stores.locks.list(change)).map(({ application }) => application),
    changes: () => world.argocd.changes.map(({ verb, object }) => `${verb} ${object.replace(/^argocd\//, "")}`),
    lastComment: (host, number) => forges[host].changeRequest(REPOSITORY, number).comments.at(-1)?.body ?? "",
  };
}

/** Until no webhook is on its way and nothing runs in the service. */
async function settle(service: Service, forges: readonly Forge[]): Promise<void> {
  const sent = () => forges.reduce((sum, { deliveries }) => sum + deliveries.length, 0);
  let seen = -1;
  while (seen !== sent()) {
    seen = sent();
    await Promise.all(forges.map((forge) => forge.idle()));
    await service.idle();
    await Promise.all(forges.map((forge) => forge.idle()));
  }
}
