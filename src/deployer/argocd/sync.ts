import { isHydrated, isMultiSource, projectOf } from "../../core/model/application.js";
import { changeRequestKey } from "../../core/model/change-request.js";
import type { Json } from "../../core/model/json.js";
import type { SyncProgress } from "../../core/model/progress.js";
import type { SyncedResource, SyncOutcome } from "../../core/model/result.js";
import type { Deployer, HealthReport, SyncLookup, SyncRequest, FollowRequest } from "../../core/ports/deployer.js";
import { SYNC_INFO } from "../../names.js";
import {
  APPLICATIONS,
  getApplication,
  identity,
  type OperationState,
  type Parts,
  rawSources,
  refreshApplication,
  type Target,
  titleOf,
  type WholeApplication,
} from "./application-api.js";
import { ArgoCdFailure, GRPC, isAbsent, readableText } from "./argocd-failure.js";
import { areSourcesOf, requireReconciled } from "./kept-definition.js";
import { getResourceTree, presentHealth, unhealthyNodes } from "./live-resources.js";

/** How often to look for an operation whose start was not confirmed. */
const LOOKS_FOR_LOST_START = 5;
/** The pause between polls grows by this factor, up to a multiple of the first pause. */
const POLL_GROWTH = 1.25;
const POLL_GROWTH_LIMIT = 4;

type Syncs = Pick<Deployer, "sync" | "follow" | "findOutcome" | "healthAfter">;

export function createSync({ config, client, clock, log }: Pick<Parts, "config" | "client" | "clock" | "log">): Syncs {
  async function look(request: SyncLookup): Promise<SyncState> {
    return syncState(await getAfterSync({ client, clock }, targetOf(request)), request);
  }

  /**
   * Sends the sync once, never a second time. If its answer is lost, looks for the operation by its run id. Argo CD may also have
   * recorded it and answered with HTTP 500, if Kubernetes did not confirm the write in time (v3.5 `SetAppOperation`). If another
   * operation is in progress, an earlier attempt of this run may have started it.
   */
  async function start(request: SyncRequest): Promise<SyncOutcome | undefined> {
    const target = targetOf(request);
    requireReconciled(request.application);
    try {
      await client.call({
        method: "POST",
        path: [...APPLICATIONS, target.resourceName, "sync"],
        // Argo CD reads all parameters of this call from the body.
        body: { ...syncBody(request), ...identity(target) },
        permission: "applications, get",
      });
      return undefined;
    } catch (error) {
      if (!(error instanceof ArgoCdFailure)) throw error;
      if (error.reason === "busy" && isOwn(await look(request).catch(() => undefined))) return undefined;
      if (!error.maybeDone && error.reason !== "failed") throw error;
      log.warn({ application: request.application.name, err: error }, "Argo CD did not confirm the start of a sync");
      return lookForLostStart(request, error);
    }
  }

  async function lookForLostStart(request: SyncRequest, failure: ArgoCdFailure): Promise<SyncOutcome | undefined> {
    let certain = false;
    for (let looks = 0; looks < LOOKS_FOR_LOST_START; looks += 1) {
      await clock.sleep(config.pollIntervalMs);
      const state = await look(request).catch(() => undefined);
      if (isOwn(state)) return undefined;
      certain = state !== undefined && !(state.kind === "foreign" && state.pending);
    }
    if (certain) throw failure;
    const message = `svc could not find out whether the sync was started (${failure.message}): check the application in Argo CD`;
    return { kind: "unknown", message };
  }

  async function followStarted(request: FollowRequest): Promise<SyncOutcome> {
    const end = clock.now().getTime() + config.syncTimeoutMs;
    let pause = config.pollIntervalMs;
    let last = "waiting for Argo CD to start";
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
            message: `another operation replaced this sync, so its outcome is unknown; ${state.history}`,
          };
        case "lost":
          return { kind: "unknown", message: `svc can no longer follow the sync: ${state.message}` };
        case "unseen":
        case "none":
          break;
      }
    }
  }

  return {
    async sync(request) {
      return (await start(request)) ?? (await followStarted(request));
    },
    async follow(request) {
      const state = await look(request);
      if (state.kind === "done") return state.outcome;
      return state.kind === "ours" ? followStarted(request) : undefined;
    },
    async findOutcome(lookup) {
      const state = await look(lookup);
      return state.kind === "done" ? state.outcome : undefined;
    },
    healthAfter: (lookup, { refresh }) => healthAfter({ client, log }, lookup, refresh),
  };
}

function isOwn(state: SyncState | undefined): boolean {
  return state?.kind === "ours" || state?.kind === "done";
}

/** Waits until the next look at an application that Argo CD refuses to show, a minute in all. */
const DENIED_WAITS_MS = [1000, 2000, 4000, 8000, 15_000, 30_000] as const;

/** Argo CD also answers 403 while Kubernetes does not answer it (`getAppEnforceRBAC`), so a refusal has to last. */
async function getAfterSync({ client, clock }: Pick<Parts, "client" | "clock">, target: Target) {
  for (const wait of DENIED_WAITS_MS) {
    try {
      return await getApplication(client, target);
    } catch (error) {
      if (!isAbsent(error) || error.code !== GRPC.permissionDenied) throw error;
      await clock.sleep(wait);
    }
  }
  return getApplication(client, target);
}

/** The spec may have been replaced since the application was read, including its project. */
function targetOf({ application }: SyncLookup): Target {
  return { ...application, project: projectOf(application.spec) };
}

/** A sync continues while Argo CD's API is unavailable; without permission to read the application, waiting is pointless. */
function unseen(error: unknown): { readonly kind: "unseen" } | { readonly kind: "lost"; readonly message: string } {
  if (!(error instanceof ArgoCdFailure)) throw error;
  const passing = error.reason === "unreachable" || error.reason === "failed";
  return passing ? { kind: "unseen" } : { kind: "lost", message: error.message };
}

/**
 * Omits `syncOptions` (they would replace the application's own), `strategy` and `resources` (a partial sync runs no hooks).
 * Sets `retryStrategy`: an application's own `retry.refresh` would drop our revision at the second attempt and deploy the target
 * branch (3.2 and newer). @throws {ArgoCdFailure} if the pins do not fit the sources: Argo CD would deploy something else.
 */
function syncBody(request: SyncRequest): Readonly<Record<string, Json | undefined>> {
  return {
    ...revisionMembers(request),
    dryRun: request.dryRun,
    prune: request.prune,
    infos: [
      { name: SYNC_INFO.run, value: request.runId },
      { name: SYNC_INFO.changeRequest, value: changeRequestKey(request.change) },
    ],
    retryStrategy: { limit: 0 },
  };
}

function revisionMembers({ application, at }: SyncRequest): Readonly<Record<string, Json>> {
  if (at === "target") return {};
  const { name, spec } = application;
  if (isHydrated(spec)) {
    const message = `${name} is deployed from what Argo CD's source hydrator commits, so svc cannot sync it at a commit`;
    throw new ArgoCdFailure("refused", message);
  }
  const positions = at.map((pin) => pin.position);
  const count = rawSources(spec).length;
  const fits = positions.every((position) => position >= 1 && position <= count);
  if (at.length === 0 || !fits || new Set(positions).size !== positions.length) {
    throw new ArgoCdFailure("refused", `the sources of ${name} have changed since the plan: plan again`);
  }
  if (isMultiSource(spec)) return { sourcePositions: positions, revisions: at.map((pin) => pin.revision) };
  return { revision: at[0]?.revision ?? "" };
}

type SyncState =
  | { readonly kind: "done"; readonly outcome: SyncOutcome }
  | ({ readonly kind: "ours" } & SyncProgress)
  /** Another operation is pending or was the last one; `history` describes the last deployment. */
  | { readonly kind: "foreign"; readonly pending: boolean; readonly history: string }
  | { readonly kind: "none" };

/**
 * An operation is done when it is gone from the spec and its phase is final. `finishedAt` proves nothing: Argo CD sets it
 * with the phase `Running` while it waits for a retry (seen with v3.5.1).
 */
function syncState(application: WholeApplication, request: SyncLookup): SyncState {
  const { operation } = application;
  const state = application.status?.operationState ?? undefined;
  if (operation !== null && operation !== undefined) {
    if (!isOurs(operation, request.runId)) {
      return { kind: "foreign", pending: true, history: lastDeployed(application) };
    }
    // The state may still describe the previous operation.
    const started = state !== undefined && isOurs(state.operation, request.runId) ? state : undefined;
    return { kind: "ours", ...progressOf(application, started) };
  }
  if (state === undefined) return { kind: "none" };
  if (!isOurs(state.operation, request.runId)) {
    return { kind: "foreign", pending: false, history: lastDeployed(application) };
  }
  const message = readableText(state.message ?? "");
  switch (state.phase ?? "") {
    case "Succeeded":
      return { kind: "done", outcome: success(application, state, request, message) };
    case "Failed":
    case "Error":
      return {
        kind: "done",
        outcome: {
          kind: "failed",
          message: message || `the phase is ${state.phase ?? ""}`,
          resources: resourcesOf(state),
        },
      };
    default:
      return { kind: "ours", ...progressOf(application, state) };
  }
}

/** The operation lists finished resources; the total is the number of resources that Argo CD manages for the application. */
function progressOf(application: WholeApplication, state: OperationState | undefined): SyncProgress {
  const done = state?.syncResult?.resources?.length ?? 0;
  const total = Math.max(done, application.status?.resources?.length ?? 0);
  return { done, total, message: readableText(state?.message ?? "waiting for Argo CD to start") };
}

/** Managed objects that are not Healthy. Argo CD does not list objects without a health. */
function unhealthyOf({ status }: WholeApplication): readonly SyncedResource[] {
  // A child Application that was just pruned is listed as Missing, and does not count for the health.
  if (status?.health?.status === "Healthy") return [];
  return (status?.resources ?? []).flatMap((resource) => {
    const word = resource.health?.status ?? "Healthy";
    return word === "Healthy" ? [] : [shownResource(resource, word, resource.health?.message)];
  });
}

function lastDeployed(application: WholeApplication): string {
  const entry = application.status?.history?.at(-1);
  if (entry === undefined) return "its history is empty";
  const revisions = entry.revisions ?? [entry.revision ?? ""];
  return readableText(`its history ends with ${revisions.join(", ")} at ${entry.deployedAt ?? "an unknown time"}`, 500);
}

function isOurs(operation: OperationState["operation"], run: string): boolean {
  return operation?.info.some((entry) => entry.name === SYNC_INFO.run && entry.value === run) ?? false;
}

/** A success counts only for the requested commits and sources: Argo CD can deploy others and still succeed. */
function success(
  application: WholeApplication,
  state: OperationState,
  request: SyncLookup,
  message: string,
): SyncOutcome {
  const wrong = wrongPin(state, request);
  if (wrong !== undefined) {
    const other = readableText(wrong.deployed ?? "") || "no known commit";
    const instead = `Argo CD reports success, but for ${other} instead of ${wrong.revision}: ${message}`;
    return { kind: "unknown", message: instead };
  }
  const resources = resourcesOf(state);
  if (!areSourcesOf(state, request)) {
    const message =
      "Argo CD deployed it, but not from the sources that were planned, since its definition had just changed: run the plan command again";
    return { kind: "failed", message, resources };
  }
  return {
    kind: "succeeded",
    message,
    resources,
    revisions: revisionsOf(state, request),
    pruneSkipped: resources.filter((resource) => resource.status === "PruneSkipped").length,
    ...(state.operation?.sync?.prune === true ? { pruned: true } : {}),
    health: application.status?.health?.status ?? "Unknown",
    unhealthy: unhealthyOf(application),
  };
}

/** A source that was deployed at another commit than the requested one. */
function wrongPin(of: Pick<OperationState, "syncResult">, request: SyncLookup) {
  const all = revisionsOf(of, request);
  const pins = (request.at === "target" ? [] : request.at).map(({ position, revision }) => {
    return { revision, deployed: all[isMultiSource(request.application.spec) ? position - 1 : 0] };
  });
  return pins.find(({ revision, deployed }) => deployed !== revision);
}

function revisionsOf({ syncResult }: Pick<OperationState, "syncResult">, { application }: SyncLookup) {
  if (isMultiSource(application.spec)) return syncResult?.revisions ?? [];
  const revision = syncResult?.revision ?? undefined;
  return revision === undefined ? [] : [revision];
}

function resourcesOf(state: OperationState): readonly SyncedResource[] {
  return (state.syncResult?.resources ?? []).map((one) => {
    const { status, hookPhase, message } = one;
    // Hooks have no status, and what fails once it is applied stays `Synced` (`setResourceResult` in gitops-engine).
    const isPhase = !status || (status === "Synced" && (hookPhase === "Failed" || hookPhase === "Error"));
    return shownResource(one, (isPhase ? hookPhase : status) ?? "", message);
  });
}

/** One object of a sync's result, with its title. */
function shownResource(
  one: Parameters<typeof titleOf>[0],
  status: string,
  message: string | null | undefined,
): SyncedResource {
  return { title: readableText(titleOf(one), 500), status, message: readableText(message ?? "", 500) };
}

const MOST_OBJECTS = 30;

/**
 * Reads the health that includes a sync. Argo CD compares an application by itself once a sync has ended, but leaves the time
 * of the comparison as it was if nothing else changed: then a refresh writes it.
 */
async function healthAfter(
  { client, log }: Pick<Parts, "client" | "log">,
  lookup: SyncLookup,
  refresh: boolean,
): Promise<HealthReport> {
  const target = targetOf(lookup);
  let found = await getApplication(client, target);
  if (refresh && stateOf(found, lookup) === "not-compared") {
    await refreshApplication(client, target, {});
    found = await getApplication(client, target);
  }
  const state = stateOf(found, lookup);
  if (state !== "compared") return { kind: state };
  const { status, lastTransitionTime } = found.status?.health ?? {};
  const report = { kind: state, health: readableText(status ?? "Unknown", 50), since: lastTransitionTime ?? undefined };
  if (status === "Healthy") return { ...report, unhealthy: [] };
  try {
    const nodes = await getResourceTree(client, target);
    const pruned = found.status?.operationState?.syncResult?.resources?.some((one) => one.status === "Pruned");
    const health = status === "Missing" ? presentHealth(nodes, found.status ?? {}, pruned === true) : report.health;
    if (health === "Healthy") return { ...report, health, unhealthy: [] };
    const sick = unhealthyNodes(nodes).slice(0, MOST_OBJECTS);
    const shown = sick.map((one) =>
      shownResource(one, readableText(one.health?.status ?? "", 50), one.health?.message),
    );
    if (shown.length > 0) return { ...report, health, unhealthy: shown };
  } catch (error) {
    if (!(error instanceof ArgoCdFailure)) throw error;
    log.debug({ application: lookup.application.name, err: error }, "could not read the objects below an application");
  }
  return { ...report, unhealthy: unhealthyOf(found).slice(0, MOST_OBJECTS) };
}

/**
 * Times have whole seconds, so a comparison in the second in which the sync ended counts: Argo CD's own `app wait` reads it
 * like this, and the health has to hold for longer than that.
 */
function stateOf({ operation, status }: WholeApplication, lookup: SyncLookup): HealthReport["kind"] {
  const { operation: ended, finishedAt } = status?.operationState ?? {};
  // A dry run takes the place of the operation that deployed, and none in the history.
  const last = (operation ?? ended)?.sync?.dryRun === true ? status?.history?.at(-1) : undefined;
  const result = { syncResult: last };
  const isLast = last && lookup.at !== "target" && !wrongPin(result, lookup) && areSourcesOf(result, lookup);
  if (!isLast && (operation || !isOurs(ended, lookup.runId))) return "replaced";
  const end = isLast ? last.deployedAt : finishedAt;
  return Date.parse(status?.reconciledAt ?? "") >= Date.parse(end ?? "") ? "compared" : "not-compared";
}
