import type { SyncOutcome } from "../../core/model/result.js";
import type { Clock } from "../../core/ports/clock.js";
import type { FollowRequest, SyncLookup, SyncRequest } from "../../core/ports/deployer.js";
import type { Log } from "../../core/ports/log.js";
import { getApplication, postSync, type Target } from "./application-calls.js";
import { ArgoCdFailure } from "./argocd-failure.js";
import type { Client } from "./client.js";
import type { ArgoCdConfig } from "./config.js";
import { syncBody } from "./sync-body.js";
import { syncState, type SyncState } from "./sync-outcome.js";
import { projectOf } from "./to-application.js";

/** How often an operation is looked for whose start was not confirmed. */
const LOOKS_FOR_LOST_START = 5;
/** The pause between polls grows by this factor, up to so many times the first one. */
const POLL_GROWTH = 1.25;
const POLL_GROWTH_LIMIT = 4;

export interface Sync {
  readonly run: (request: SyncRequest) => Promise<SyncOutcome>;
  readonly follow: (request: FollowRequest) => Promise<SyncOutcome | undefined>;
  readonly find: (lookup: SyncLookup) => Promise<SyncOutcome | undefined>;
}

export function createSync(config: ArgoCdConfig, parts: { client: Client; clock: Clock; log: Log }): Sync {
  const { client, clock, log } = parts;

  async function look(request: SyncLookup): Promise<SyncState> {
    return syncState(await getApplication(client, targetOf(request)), request);
  }

  /** Sent once; an unknown outcome is looked up by our correlation id, and never answered with a second sync. */
  async function start(request: SyncRequest): Promise<SyncOutcome | undefined> {
    try {
      await postSync(client, targetOf(request), syncBody(request));
      return undefined;
    } catch (error) {
      if (!(error instanceof ArgoCdFailure) || !error.maybeDone) throw error;
      log.warn({ application: request.application.name, err: error }, "the start of a sync was not confirmed");
      return lookForLostStart(request, error);
    }
  }

  async function lookForLostStart(request: SyncRequest, failure: ArgoCdFailure): Promise<SyncOutcome | undefined> {
    let certain = false;
    for (let looks = 0; looks < LOOKS_FOR_LOST_START; looks += 1) {
      await clock.sleep(config.pollIntervalMs);
      const state = await look(request).catch(() => undefined);
      if (state?.kind === "ours" || state?.kind === "done") return undefined;
      certain = state !== undefined && !(state.kind === "foreign" && state.pending);
    }
    if (certain) throw failure;
    const message = `it is not known whether the sync was started (${failure.message}): look at the application in Argo CD`;
    return { kind: "unknown", message };
  }

  async function followStarted(request: FollowRequest): Promise<SyncOutcome> {
    const end = clock.now().getTime() + config.syncTimeoutMs;
    let pause = config.pollIntervalMs;
    let last = "waiting for Argo CD to begin";
    for (;;) {
      const left = end - clock.now().getTime();
      if (left <= 0) return { kind: "running", message: last };
      await clock.sleep(Math.min(pause, left));
      pause = Math.min(Math.round(pause * POLL_GROWTH), config.pollIntervalMs * POLL_GROWTH_LIMIT);
      const state = await look(request).catch(unseen);
      switch (state.kind) {
        case "done":
          return state.outcome;
        case "ours":
          last = state.message;
          request.onProgress?.({ done: state.done, total: state.total, message: state.message });
          break;
        case "foreign":
          return {
            kind: "unknown",
            message: `another operation took the place of this sync, so its outcome is not known; ${state.history}`,
          };
        case "lost":
          return { kind: "unknown", message: `the sync cannot be followed any more: ${state.message}` };
        case "unseen":
        case "none":
          break;
      }
    }
  }

  return {
    async run(request) {
      const ended = await start(request);
      return ended ?? (await followStarted(request));
    },
    async follow(request) {
      const state = await look(request);
      if (state.kind === "done") return state.outcome;
      return state.kind === "ours" ? followStarted(request) : undefined;
    },
    async find(lookup) {
      const state = await look(lookup);
      return state.kind === "done" ? state.outcome : undefined;
    },
  };
}

/** The spec may have been replaced since the application was read, and its project with it. */
function targetOf({ application }: SyncLookup): Target {
  return { ...application, project: projectOf(application.spec) };
}

/** The sync goes on while Argo CD's API is away for a while; without the right to look there is nothing to wait for. */
function unseen(error: unknown): { readonly kind: "unseen" } | { readonly kind: "lost"; readonly message: string } {
  if (!(error instanceof ArgoCdFailure)) throw error;
  const passing = error.reason === "unreachable" || error.reason === "failed";
  return passing ? { kind: "unseen" } : { kind: "lost", message: error.message };
}
