import type { Logger } from "pino";
import { parse } from "yaml";
import { startSandbox, type SandboxWorld } from "../sandbox/world.js";
import type { Lock } from "../src/core/model/lock.js";
import { HOST_IDS, WEBHOOK_PATHS, type HostId } from "../src/names.js";
import { startService, type Service } from "../src/service/service.js";
import { systemClock } from "../src/service/system-clock.js";
import { createMemoryStores } from "../src/store/memory/memory-stores.js";
import type { Stores } from "../src/store/stores.js";
import { ClusterWatch } from "./cluster-watch.js";
import { serviceSettings, WEBHOOK_SECRET } from "./service-settings.js";
import { applicationsOf, FIRST_VALUES, shopFiles, type Shop } from "./shop.js";
import { Story } from "./story.js";

const SHOPS: Readonly<Record<HostId, Shop>> = {
  hosta: { repository: "acme/shop", namespace: "shop", plain: "web", kustomize: "api", helm: "payments" },
  hostb: { repository: "acme/warehouse", namespace: "warehouse", plain: "stock", kustomize: "orders", helm: "billing" },
};

/** How long a sync takes, in milliseconds: long enough to be seen. */
const SYNC_MS = 1500;

interface StageParts {
  readonly world: SandboxWorld;
  readonly service: Service;
  readonly stores: Stores;
  readonly stories: Readonly<Record<HostId, Story>>;
  readonly log: Logger;
}

/** One world with the service in it, from the first commit on; a reset replaces it by a new one. */
export class Stage {
  readonly stories: StageParts["stories"];
  readonly world: SandboxWorld;
  readonly cluster: ClusterWatch;
  readonly #parts: StageParts;
  /** Answers that are awaited, by host. */
  readonly #working = new Map<HostId, number>();

  private constructor(parts: StageParts) {
    this.#parts = parts;
    this.stories = parts.stories;
    this.world = parts.world;
    this.cluster = new ClusterWatch(parts.world.argocd);
  }

  /** Resolves when both hosts have a change request with a plan. What was started is stopped when something fails. */
  static async start(log: Logger): Promise<Stage> {
    const world = await startSandbox({ github: true, gitlab: true, argocd: { operationTime: { ms: SYNC_MS } } });
    let service: Service | undefined;
    try {
      const stories = await beginStories(world);
      const stores = createMemoryStores(systemClock);
      service = await startService(serviceSettings(world), log, { stores });
      const stage = new Stage({ world, service, stores, stories, log });
      for (const host of HOST_IDS) {
        const { forge } = stories[host];
        forge.connect({ url: `${service.url}${WEBHOOK_PATHS[host]}`, secret: WEBHOOK_SECRET });
        await stories[host].open();
      }
      await stage.settle();
      return stage;
    } catch (error) {
      await service?.close();
      await world.stop();
      throw error;
    }
  }

  /** Does something on a host and follows it in the background until the service has nothing left to do. */
  async act(host: HostId, deed: (story: Story) => Promise<unknown>): Promise<void> {
    this.#count(host, 1);
    try {
      await deed(this.stories[host]);
    } catch (error) {
      this.#count(host, -1);
      throw error;
    }
    void this.settle()
      .catch((error: unknown) => this.#parts.log.error({ err: error }, "following the demo's work failed"))
      .finally(() => this.#count(host, -1));
  }

  isWorking(host: HostId): boolean {
    return (this.#working.get(host) ?? 0) > 0;
  }

  locks(): Promise<readonly Lock[]> {
    return this.#parts.stores.locks.list();
  }

  /** Until no webhook is on its way and nothing runs in the service; Argo CD has then looked at git once more. */
  async settle(): Promise<void> {
    const { service, world } = this.#parts;
    const forges = HOST_IDS.map((host) => this.stories[host].forge);
    const sent = () => forges.reduce((sum, { deliveries }) => sum + deliveries.length, 0);
    let seen = -1;
    while (seen !== sent()) {
      seen = sent();
      await Promise.all(forges.map((forge) => forge.idle()));
      await service.idle();
      await Promise.all(forges.map((forge) => forge.idle()));
    }
    await world.argocd.pollGit();
    await Promise.all(HOST_IDS.map((host) => this.stories[host].look()));
  }

  async stop(): Promise<void> {
    this.cluster.stop();
    try {
      await this.#parts.service.close();
    } finally {
      await this.world.stop();
    }
  }

  #count(host: HostId, by: number): void {
    this.#working.set(host, (this.#working.get(host) ?? 0) + by);
  }
}

/** Repositories on both hosts, and in the cluster everything that their main branches describe. */
async function beginStories(world: SandboxWorld): Promise<Readonly<Record<HostId, Story>>> {
  const { github, gitlab, argocd } = world;
  if (github === undefined || gitlab === undefined) throw new Error("the demo needs both hosts");
  const stories = {
    hosta: new Story({ host: "hosta", forge: github, shop: SHOPS.hosta }),
    hostb: new Story({ host: "hostb", forge: gitlab, shop: SHOPS.hostb }),
  };
  for (const story of Object.values(stories)) {
    await story.begin();
    const files = shopFiles(story.shop, FIRST_VALUES, story.cloneUrlToBe());
    for (const { name } of applicationsOf(story.shop)) {
      argocd.addApplication(parse(files[`argocd/${name}.yaml`] ?? ""));
      await argocd.deploy(name);
    }
  }
  return stories;
}
