import { Redis } from "ioredis";
import type { Exchange } from "../../sandbox/argocd/exchanges.js";
import type { Forge } from "../../sandbox/forge.js";
import type { SandboxWorld } from "../../sandbox/world.js";
import { type HostId, KEYS, SYNC_INFO } from "../../src/names.js";

export const REPOSITORY = "acme/deploy";

/** A change request of the story. */
export interface Place {
  readonly host: HostId;
  readonly number: number;
}

export function placeKey({ host, number }: Place): string {
  return `${host}/${REPOSITORY}/${number}`;
}

/** What the service was told of a change request, at the moment when it asked. */
interface Read {
  readonly at: number;
  readonly head: string;
  readonly approved: boolean;
}

/** A sync that Argo CD took. */
export interface SeenSync {
  readonly at: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly application: string;
  readonly run: string;
  /** Key of the change request for which it was asked. */
  readonly change: string;
  /** Empty: the target revision, as a rollback does. */
  readonly revision: string;
  readonly dryRun: boolean;
  /** Key of the change request that held the lock when the sync came; undefined: nobody; "unknown": Redis was away. */
  readonly holder: string | undefined;
  /** What was read last of the change request before. */
  readonly read: Read | undefined;
  /** Calls that wrote to the application between that reading and the sync. */
  readonly between: readonly string[];
}

/** A merge that the service asked for. */
export interface SeenMerge {
  readonly change: string;
  readonly head: string;
  readonly approved: boolean;
}

/** Looks at everything that reaches the outside world, in the order in which it does. */
export class Observer {
  readonly syncs: SeenSync[] = [];
  readonly merges: SeenMerge[] = [];
  /** Locks that were not the syncing change request's while its operation ran, in words. */
  readonly takenWhileRunning = new Set<string>();
  /** Heads that were approved, by change request and commit. */
  readonly #approved = new Set<string>();
  readonly #reads = new Map<string, Read>();
  readonly #writes: { readonly at: number; readonly application: string; readonly call: string }[] = [];
  readonly #holders = new Map<string, string | undefined>();
  readonly #redis: Redis;
  #clock = 0;

  constructor(
    private readonly world: SandboxWorld,
    redisPort: number,
  ) {
    const { github, gitlab, argocd } = world;
    this.#redis = new Redis({
      host: "127.0.0.1",
      port: redisPort,
      maxRetriesPerRequest: 0,
      enableOfflineQueue: false,
      retryStrategy: () => 50,
    });
    this.#redis.on("error", () => undefined);
    this.#watch("hosta", github);
    this.#watch("hostb", gitlab);
    argocd.faults.add({
      method: "POST",
      path: /\/applications\/[^/]+\/sync$/,
      fault: { kind: "meanwhile", act: (path) => this.#noteHolder(path.split("/").at(-2) ?? "") },
    });
    argocd.onExchange((exchange) => this.#noteExchange(exchange));
  }

  approved(place: Place, head: string): void {
    this.#approved.add(`${placeKey(place)} ${head}`);
  }

  isApproved(place: Place, head: string): boolean {
    return this.#approved.has(`${placeKey(place)} ${head}`);
  }

  /** Locks in Redis: application and key of its holder. */
  async locks(): Promise<ReadonlyMap<string, string>> {
    const keys = await this.#redis.keys(`${KEYS.lock}*`);
    const entries = await Promise.all(keys.map(async (key) => [key, holderOf(await this.#redis.get(key))] as const));
    return new Map(entries.map(([key, holder]) => [key.slice(KEYS.lock.length), holder ?? ""]));
  }

  /** What the audit trail says of a change request: the applications of each entry with this action. */
  async audited(change: string, action: string): Promise<readonly unknown[]> {
    const entries = await this.#redis.xrange(KEYS.audit, "-", "+").catch(() => []);
    const all = entries.map(([, [, record = "{}"]]) => (JSON.parse(record) as { readonly entry: AuditedEntry }).entry);
    return all
      .filter((one) => one.action === action && keyOfRecord(one.change) === change)
      .map(({ applications }) => applications);
  }

  /** Straight to the server, past every proxy. */
  get redis(): Redis {
    return this.#redis;
  }

  stop(): void {
    this.#redis.disconnect();
  }

  #watch(host: HostId, forge: Forge | undefined): void {
    forge?.faults.add({
      method: "GET",
      path: /\/(?:pulls|merge_requests)\/\d+$/,
      fault: {
        kind: "meanwhile",
        act: (path) => {
          const place = { host, number: Number(path.split("/").at(-1)) };
          this.#reads.set(placeKey(place), { at: this.#tick(), ...this.#present(forge, place) });
        },
      },
    });
    forge?.faults.add({
      method: "PUT",
      path: /\/(?:pulls|merge_requests)\/\d+\/merge$/,
      fault: {
        kind: "meanwhile",
        act: (path) => {
          const place = { host, number: Number(path.split("/").at(-2)) };
          this.merges.push({ change: placeKey(place), ...this.#present(forge, place) });
        },
      },
    });
  }

  #present(forge: Forge, place: Place): { readonly head: string; readonly approved: boolean } {
    const head = forge.changeRequest(REPOSITORY, place.number).headRevision;
    return { head, approved: this.isApproved(place, head) };
  }

  async #noteHolder(application: string): Promise<void> {
    const record = await this.#redis.get(KEYS.lock + application).catch(() => "unknown" as const);
    this.#holders.set(application, record === "unknown" ? record : holderOf(record));
  }

  #noteExchange({ method, path, requestBody, status }: Exchange): void {
    const at = this.#tick();
    const application = /^\/api\/v1\/applications\/([^/]+)/.exec(path)?.[1];
    if (application === undefined) return;
    void this.#lookAtLock(application);
    if (method === "GET") return;
    if (!path.endsWith("/sync")) {
      this.#writes.push({ at, application, call: `${method} ${path}` });
      return;
    }
    if (status !== 200) return;
    const body = JSON.parse(requestBody) as {
      readonly revision?: string;
      readonly dryRun?: boolean;
      readonly infos: readonly { readonly name: string; readonly value: string }[];
    };
    const info = (wanted: string): string => body.infos.find(({ name }) => name === wanted)?.value ?? "";
    const change = info(SYNC_INFO.changeRequest);
    const read = this.#reads.get(change);
    this.syncs.push({
      at,
      time: Date.now(),
      application,
      run: info(SYNC_INFO.run),
      change,
      revision: body.revision ?? "",
      dryRun: body.dryRun ?? false,
      holder: this.#holders.get(application),
      read,
      between: this.#writes
        .filter((write) => write.application === application && write.at > (read?.at ?? 0))
        .map(({ call }) => call),
    });
  }

  /** The operation that runs before and after the look at the lock ran during it. */
  async #lookAtLock(application: string): Promise<void> {
    const before = this.#running(application);
    if (before === undefined) return;
    const record = await this.#redis.get(KEYS.lock + application).catch(() => "unknown" as const);
    if (record === "unknown" || this.#running(application)?.run !== before.run) return;
    const holder = holderOf(record) ?? "nobody";
    if (holder === before.change) return;
    this.takenWhileRunning.add(
      `${application} was locked by ${holder} while ${before.change} (${before.run}) synced it`,
    );
  }

  #running(application: string): { readonly run: string; readonly change: string } | undefined {
    const state = this.world.argocd.application(application)?.status.operationState;
    if (state?.phase !== "Running") return undefined;
    const infos = state.operation.info ?? [];
    const info = (wanted: string): string => infos.find(({ name }) => name === wanted)?.value ?? "";
    // Argo CD's own, by auto-sync, has no run.
    return info(SYNC_INFO.run) === "" ? undefined : { run: info(SYNC_INFO.run), change: info(SYNC_INFO.changeRequest) };
  }

  #tick(): number {
    this.#clock += 1;
    return this.#clock;
  }
}

interface AuditedEntry {
  readonly action: string;
  readonly applications: readonly unknown[];
  readonly change: { readonly host: string; readonly repository: string; readonly number: number };
}

function keyOfRecord({ host, repository, number }: AuditedEntry["change"]): string {
  return `${host}/${repository}/${number}`;
}

function holderOf(record: string | null): string | undefined {
  if (record === null) return undefined;
  const { host, repository, pr_number } = JSON.parse(record) as Readonly<Record<string, string | number>>;
  return `${String(host)}/${String(repository)}/${String(pr_number)}`;
}
