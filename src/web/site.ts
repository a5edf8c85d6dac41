import { readVersion } from "../config/files.js";
import type { KvstoreSection, ServerConfig } from "../config/server/server.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import { ReceiverBroken } from "../core/model/errors.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Deployer } from "../core/ports/deployer.js";
import type { LiveFeed } from "../core/ports/live-feed.js";
import type { ReceiverState } from "../core/ports/notifications.js";
import { DEPLOYER_TITLE, HOST_TITLES, STORE_TITLE } from "../names.js";
import type { Stores } from "../store/stores.js";
import type { ApiParts } from "./api/answers.js";
import { apiRouter } from "./api/api.js";
import { DiffReaders } from "./diff-readers.js";
import { type ChangeSummary, HostSummaries } from "./host-summaries.js";
import { LiveStreams } from "./live-streams.js";
import type { PageParts } from "./pages/page.js";
import { pagesRouter } from "./pages/pages.js";
import { StatusProbe } from "./status-probe.js";

export interface SiteParts
  extends Omit<ApiParts, keyof Stores | "readers" | "timezone">, Pick<PageParts, "backlog" | "limitWaits"> {
  readonly config: ServerConfig;
  readonly stores: Stores;
  readonly hosts: readonly CodeHost[];
  readonly deployer: Deployer;
  readonly live: LiveFeed;
  readonly lookUp: (change: ChangeRequestRef) => Promise<ChangeSummary | undefined>;
  readonly receivers: () => Promise<readonly ReceiverState[]>;
  readonly tokens: () => readonly { readonly system: string; readonly at: Date }[];
}

/** The API and the pages over the stores of the service. */
export function createSite(parts: SiteParts) {
  const { stores } = parts;
  const streams = new LiveStreams(parts.live);
  const { timezone } = parts.config.server;
  const shared = { ...parts, ...stores, timezone, readers: new DiffReaders(parts) };
  const summaries = new HostSummaries(parts);
  const { uiUrl, serverUrl } = parts.config.deployer;
  const deployerUrl = uiUrl ?? serverUrl;
  const status = new StatusProbe(checksOf(parts), { clock: parts.clock, known: () => tokenRows(parts) });
  return {
    api: apiRouter(shared),
    pages: pagesRouter({ ...shared, summaries, streams, status, deployerUrl, version: readVersion() }),
    /** Ends the live streams, which would keep connections open. */
    close: () => streams.close(),
  };
}

function checksOf({ config, stores, hosts, deployer, receivers }: SiteParts) {
  const redis = redisTitle(config.kvstore);
  return [
    {
      name: redis ?? "Store (embedded)",
      ask: async () => {
        await stores.ping();
        return redis === undefined
          ? "Locks and sessions are kept in memory and lost when this process ends. Set `redis.address` to keep them in Redis."
          : "answers";
      },
    },
    {
      name: DEPLOYER_TITLE,
      ask: async () => {
        const { version, account } = await deployer.check();
        return `version ${version}, as account ${account}`;
      },
    },
    ...hosts.map((host) => ({
      name: HOST_TITLES[host.id],
      ask: async () => {
        await host.reach();
        return "answers, and accepts svc's credentials";
      },
    })),
    ...config.notifications.map(({ name }) => ({
      name: `Notifications: ${name}`,
      ask: async () => receiverDetail((await receivers()).find(({ receiver }) => receiver === name)),
    })),
  ];
}

function receiverDetail(state: ReceiverState | undefined): string {
  const { waiting = 0, broken } = state ?? {};
  const waits = waiting === 1 ? "1 message waits" : `${waiting} messages wait`;
  if (broken === undefined) return waiting === 0 ? "no message waits" : waits;
  throw new ReceiverBroken(`${broken.problem}, since ${broken.since}; ${waits}`);
}

const DAY_MS = 24 * 60 * 60_000;

function tokenRows({ tokens, clock }: Pick<SiteParts, "tokens" | "clock">) {
  return tokens().map(({ system, at }) => {
    const days = Math.floor((at.getTime() - clock.now().getTime()) / DAY_MS);
    const day = at.toISOString().slice(0, 10);
    const name = `Token for ${system}`;
    if (days < 0) return { name, state: "unavailable", detail: `expired on ${day}` } as const;
    return {
      name,
      state: "available",
      detail: `expires on ${day}, in ${days} ${days === 1 ? "day" : "days"}`,
    } as const;
  });
}

/** Undefined if no Redis is configured. */
function redisTitle({ address, sentinel, cluster }: KvstoreSection): string | undefined {
  if (address !== undefined) return STORE_TITLE;
  if (sentinel !== undefined) return `${STORE_TITLE} (Sentinel)`;
  return cluster === undefined ? undefined : `${STORE_TITLE} (Cluster)`;
}
