import { setImmediate } from "node:timers/promises";
import type { Application, ApplicationSet, LiveApplication } from "../../../src/core/model/application.js";
import { repositoryName, revision } from "../../../src/core/model/brand.js";
import type { ChangeRequestRef } from "../../../src/core/model/change-request.js";
import { type JsonObject, readJsonText } from "../../../src/core/model/json.js";
import type { Clock } from "../../../src/core/ports/clock.js";
import type { RenderRequest, SyncRequest } from "../../../src/core/ports/deployer.js";
import type { ArgoCdConfig } from "../../../src/deployer/argocd/client.js";
import { createArgoCd } from "../../../src/deployer/argocd/create-argocd.js";
import { sampleApplication } from "../../core/sample-application.js";
import { inlineCompute } from "../../in-memory/inline-compute.js";
import { recordingLog } from "../../recording-log.js";
import { serverUrl } from "./scripted-argocd.js";

export const TOKEN = "head.payload.signature";
export const SHA = revision("34140a4ef462342ed697a00becd645df080180f0");
export const OTHER_SHA = revision("07e4369645ca62b9be151959580504ac34876bcd");
export const CHANGE = { host: "hosta", repository: repositoryName("acme/deploy"), number: 7 } as const;

/** A clock that a sleep advances at once. */
export function jumpingClock(): Clock & { readonly slept: number[]; forward(ms: number): void } {
  let now = Date.parse("2026-06-01T12:00:00Z");
  const slept: number[] = [];
  return {
    slept,
    forward: (ms) => void (now += ms),
    now: () => new Date(now),
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      slept.push(ms);
      now += ms;
      await setImmediate();
      signal?.throwIfAborted();
    },
  };
}

export function underTest(config: Partial<ArgoCdConfig> = {}) {
  const clock = jumpingClock();
  const log = recordingLog();
  const deployer = createArgoCd(
    {
      serverUrl: config.serverUrl ?? serverUrl(),
      token: TOKEN,
      insecure: false,
      renderConcurrency: 2,
      renderTimeoutMs: 120_000,
      syncTimeoutMs: 600_000,
      requestTimeoutMs: 5_000,
      pollIntervalMs: 2_000,
      ...config,
    },
    { clock, log, compute: inlineCompute },
  );
  return { deployer: withRead(deployer), clock, lines: log.lines };
}

/** The deployer with its texts read, and with a signal where a test needs none. */
function withRead(deployer: ReturnType<typeof createArgoCd>) {
  const { signal: unaborted } = new AbortController();
  return {
    ...deployer,
    renderManifests: async (request: RenderRequest, signal = unaborted) =>
      readJsonText(await deployer.renderManifests(request, signal)),
    expandApplicationSet: (set: ApplicationSet, change: ChangeRequestRef, signal = unaborted) =>
      deployer.expandApplicationSet(set, change, signal),
    liveResources: async (application: LiveApplication, signal = unaborted) =>
      readJsonText(await deployer.liveResources(application, signal)),
  };
}

const SPEC: JsonObject = {
  project: "default",
  source: { repoURL: "https://git.example.com/acme/deploy.git", path: "apps/plain", targetRevision: "main" },
  destination: { server: "https://kubernetes.default.svc", namespace: "guestbook" },
};

export const MULTI_SPEC: JsonObject = {
  project: "default",
  sources: [
    { repoURL: "https://charts.example.com", chart: "shop", targetRevision: "4.2.1" },
    { repoURL: "https://git.example.com/acme/deploy.git", targetRevision: "main", ref: "values" },
    { repoURL: "https://git.example.com/acme/deploy.git", targetRevision: "main", path: "extra" },
  ],
  destination: { name: "prod", namespace: "shop" },
};

export function application(changes: Partial<Application> = {}): Application {
  return sampleApplication("plain", SPEC, changes);
}

export function live(changes: Partial<LiveApplication> = {}): LiveApplication {
  const none = {
    owningSet: undefined,
    parent: undefined,
    sourceTypes: [""],
    comparedRevisions: [],
    deleting: false,
    cascades: false,
  };
  return { ...application(), ...none, ...changes };
}

export function renderRequest(changes: Partial<RenderRequest> = {}): RenderRequest {
  return {
    application: application(),
    mode: "in-place",
    pins: [{ position: 1, revision: SHA }],
    side: "head",
    change: { ...CHANGE, headRevision: SHA },
    helmPositions: [],
    fresh: false,
    ...changes,
  };
}

export function syncRequest(changes: Partial<SyncRequest> = {}): SyncRequest {
  return {
    application: live(),
    at: [{ position: 1, revision: SHA }],
    dryRun: false,
    prune: false,
    runId: "run-1",
    change: CHANGE,
    ...changes,
  };
}

/** The error that a promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<{ name: string; reason: string; message: string }> {
  try {
    await promise;
  } catch (error) {
    return error as { name: string; reason: string; message: string };
  }
  throw new Error("it did not fail");
}
