import type { Logger } from "pino";
import { parse, stringify } from "yaml";
import { appKeys, GITHUB_APP, GITLAB_TOKEN, type SandboxWorld, startSandbox } from "../sandbox/world.js";
import { loadServerConfig, type ServerConfig } from "../src/config/server/server.js";
import type { Lock } from "../src/core/model/lock.js";
import { HOST_IDS, type HostId, SERVER_FILE, WEBHOOK_PATHS } from "../src/names.js";
import { type Service, startService, systemClock } from "../src/service/service.js";
import { createMemoryStores } from "../src/store/memory/memory-stores.js";
import type { Stores } from "../src/store/stores.js";
import { ClusterWatch } from "./cluster-watch.js";
import { listenNear } from "./listen-near.js";
import { MISSING_NAMESPACE } from "./scenes.js";
import { applicationsOf, FIRST_VALUES, type Shop, shopFiles } from "./shop.js";
import { Story } from "./story.js";
import { visitorAuth, VisitorSession } from "./visitor-session.js";

const SHOPS: Readonly<Record<HostId, Shop>> = {
  hosta: {
    repository: "acme/shop",
    namespace: "shop",
    plain: "web",
    kustomize: "api",
    helm: "payments",
    storage: "search",
    secret: "mail",
  },
  hostb: {
    repository: "acme/warehouse",
    namespace: "warehouse",
    plain: "stock",
    kustomize: "orders",
    helm: "billing",
    storage: "archive",
    secret: "alerts",
  },
};

const WEBHOOK_SECRET = "demo-webhook-secret";

/** Duration of a sync in milliseconds: long enough to be visible. */
const SYNC_MS = 1500;

interface StageParts {
  readonly world: SandboxWorld;
  readonly service: Service;
  readonly stores: Stores;
  readonly stories: Readonly<Record<HostId, Story>>;
  readonly log: Logger;
}

/** One world with the service in it. A reset replaces it with a new one. */
export class Stage {
  readonly stories: StageParts["stories"];
  readonly world: SandboxWorld;
  readonly cluster: ClusterWatch;
  readonly #parts: StageParts;
  readonly #session: VisitorSession;
  /** Number of actions in progress, by host. */
  readonly #working = new Map<HostId, number>();
  #changed: () => void = () => undefined;

  private constructor(parts: StageParts) {
    this.#parts = parts;
    this.stories = parts.stories;
    this.world = parts.world;
    this.cluster = new ClusterWatch(parts.world.argocd);
    this.#session = new VisitorSession(parts.service.url);
    const { argocd } = parts.world;
    for (const host of HOST_IDS) parts.stories[host].forge.subscribe(() => this.#changed());
    argocd.onExchange(() => this.#changed());
    argocd.subscribe(() => this.#changed());
  }

  /** Address of svc's own pages. */
  get pagesUrl(): string {
    return this.#parts.service.url;
  }

  /** The cookie that opens svc's own pages to the visitor. */
  visitorCookie(): Promise<string | undefined> {
    return this.#session.cookie();
  }

  /** Calls `onChange` whenever something may look different from now on; replaces an earlier listener. */
  watch(onChange: () => void): void {
    this.#changed = onChange;
  }

  /** Resolves once both hosts have a change request with a plan. Stops everything if starting fails. */
  static async start(log: Logger): Promise<Stage> {
    const world = await startSandbox({ github: true, gitlab: true, argocd: { operationTime: { ms: SYNC_MS } } });
    let service: Service | undefined;
    try {
      const stories = await beginStories(world);
      const stores = createMemoryStores(systemClock);
      service = await startService(serviceSettings(world, await freePort()), log, { stores });
      const stage = new Stage({ world, service, stores, stories, log });
      for (const host of HOST_IDS) {
        const { forge } = stories[host];
        forge.connect({ url: `${service.url}${WEBHOOK_PATHS[host]}`, secret: WEBHOOK_SECRET });
        await stories[host].open("release");
      }
      await stage.settle();
      return stage;
    } catch (error) {
      await service?.close();
      await world.stop();
      throw error;
    }
  }

  /** Acts on a host, and follows up in the background until the service is idle. */
  async act(host: HostId, deed: (story: Story) => Promise<unknown>): Promise<void> {
    this.#count(host, 1);
    try {
      await deed(this.stories[host]);
    } catch (error) {
      this.#count(host, -1);
      throw error;
    }
    void this.settle()
      .catch((error: unknown) => this.#parts.log.error({ err: error }, "could not follow up an action of the demo"))
      .finally(() => this.#count(host, -1));
  }

  isWorking(host: HostId): boolean {
    return (this.#working.get(host) ?? 0) > 0;
  }

  locks(): Promise<readonly Lock[]> {
    return this.#parts.stores.locks.list();
  }

  /** Waits until no webhook is in flight and the service is idle, then lets Argo CD refresh from git. */
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
    this.#changed = () => undefined;
    try {
      await this.#parts.service.close();
    } finally {
      await this.world.stop();
    }
  }

  #count(host: HostId, by: number): void {
    this.#working.set(host, (this.#working.get(host) ?? 0) + by);
    this.#changed();
  }
}

/** Creates the repositories on both hosts and deploys their main branches. */
async function beginStories(world: SandboxWorld): Promise<Readonly<Record<HostId, Story>>> {
  const { github, gitlab, argocd } = world;
  if (github === undefined || gitlab === undefined) throw new Error("the demo needs both hosts");
  argocd.removeNamespace(MISSING_NAMESPACE);
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

/** The service's configuration for this world, parsed like any `svc.yaml`. */
function serviceSettings({ github, gitlab, argocd, argocdToken }: SandboxWorld, port: number): ServerConfig {
  if (github === undefined || gitlab === undefined) throw new Error("the demo needs both hosts");
  const sections = {
    server: { host: "127.0.0.1", port, base_url: `http://127.0.0.1:${port}`, shutdown_grace: "3s" },
    deployer: { server_url: argocd.url, token: argocdToken, poll_interval: "300ms" },
    hosta: {
      app_id: GITHUB_APP.id,
      private_key: appKeys().privateKey,
      webhook_secret: WEBHOOK_SECRET,
      api_url: github.apiUrl,
      web_url: github.url,
    },
    hostb: { url: gitlab.url, token: GITLAB_TOKEN, webhook_secret: WEBHOOK_SECRET, commit_status: true },
    auth: visitorAuth(),
    defaults: { require_approval: true, auto_merge: true, delete_source_branch: true },
  };
  const loaded = loadServerConfig([{ name: SERVER_FILE, text: stringify(sections) }], {});
  if (loaded.kind === "invalid") throw new Error(`the demo's configuration: ${JSON.stringify(loaded.problems)}`);
  return loaded.config;
}

/** A port that was free a moment ago: links to svc's pages need it before svc listens. */
async function freePort(): Promise<number> {
  const server = await listenNear(() => undefined, 0);
  await server.stop();
  return Number(new URL(server.url).port);
}
