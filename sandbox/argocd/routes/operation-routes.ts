import { enforce } from "../accounts.js";
import { ApiError, failedPrecondition, permissionDenied, quoted } from "../api-error.js";
import { findApplication } from "../find-application.js";
import { zeroless } from "../json.js";
import { presentApplication } from "../present.js";
import { SourceFailure } from "../render/renderer.js";
import { isAutoSynced, isMultiSource, sourcesOf, type Application, type Operation } from "../resource.js";
import type { EndpointId, SyncRequest } from "../schemas/endpoints.js";
import { accountOf, text, type Call, type Handler } from "./call.js";
import { windowsOf } from "./read-routes.js";
import { askedRevisions } from "./render-routes.js";

export const operationRoutes = {
  async sync(call) {
    const { world } = call;
    const account = accountOf(call);
    const request = call.body as SyncRequest;
    const wanted = { name: call.parameters.name ?? "", namespace: request.appNamespace, project: request.project };
    const application = findApplication(world, account, "get", wanted);
    enforce(account, "applications", "sync", world.rbacNameOf(application));
    if (windowsOf(call, application).length > 0) throw permissionDenied("cannot sync: blocked by sync window");
    if (application.metadata.deletionTimestamp !== undefined) throw failedPrecondition("application is deleting");
    const operation = await operationFor(call, application, request);
    call.operations.start(application, operation);
    world.log(account, request.dryRun === true ? "dry-run" : "sync", application);
    return presentApplication(application);
  },
  async terminate(call) {
    const { world } = call;
    const account = accountOf(call);
    const wanted = {
      name: call.parameters.name ?? "",
      namespace: text(call, "appNamespace"),
      project: text(call, "project"),
    };
    const application = findApplication(world, account, "get", wanted);
    enforce(account, "applications", "sync", world.rbacNameOf(application));
    await call.operations.terminate(application);
    world.log(account, "terminate", application);
    return {};
  },
} satisfies Partial<Record<EndpointId, Handler>>;

async function operationFor(call: Call, application: Application, request: SyncRequest): Promise<Operation> {
  const { spec } = application;
  const sources = sourcesOf(spec);
  const asked = askedRevisions(
    spec,
    request.revision === "" ? undefined : request.revision,
    request.sourcePositions ?? [],
    request.revisions ?? [],
  );
  for (const [index, revision] of asked.entries()) {
    const target = sources[index]?.targetRevision ?? "";
    if (revision === undefined || revision === (target === "" ? "HEAD" : target) || revision === target) continue;
    if (isAutoSynced(spec) && request.dryRun !== true) throw failedPrecondition(autoSyncRefusal(spec, index, revision));
  }
  const syncOptions =
    request.syncOptions === undefined ? spec.syncPolicy?.syncOptions : (request.syncOptions.items ?? []);
  const revisions = await resolved(call, application, asked);
  const multi = isMultiSource(spec);
  return {
    sync: {
      ...(multi
        ? { sources: storedSources(call.world.options.version, sources, asked), revisions }
        : { revision: revisions[0] ?? "", source: sources[0] }),
      ...zeroless({ dryRun: request.dryRun, prune: request.prune, syncOptions }),
    },
    initiatedBy: { username: accountOf(call).name },
    ...(request.infos === undefined || request.infos.length === 0 ? {} : { info: request.infos }),
    retry: zeroless(request.retryStrategy ?? spec.syncPolicy?.retry ?? {}),
  };
}

/** Before v3.3 the sources of an operation follow the commits that it was asked for. */
function storedSources(
  version: string,
  sources: ReturnType<typeof sourcesOf>,
  asked: readonly (string | undefined)[],
): ReturnType<typeof sourcesOf> {
  if (!/^v(?:2|3\.[0-2])\./.test(version)) return sources;
  return sources.map((source, index) => ({ ...source, targetRevision: asked[index] ?? source.targetRevision }));
}

function autoSyncRefusal(spec: Application["spec"], index: number, revision: string): string {
  const source = sourcesOf(spec)[index];
  const which = isMultiSource(spec) ? `source ${source?.repoURL ?? ""} ` : "";
  return `Cannot sync ${which}to ${revision}: auto-sync currently set to ${source?.targetRevision ?? ""}`;
}

/** Resolves names to commit ids; a full id is taken as it is. */
async function resolved(
  { world }: Call,
  application: Application,
  asked: readonly (string | undefined)[],
): Promise<string[]> {
  try {
    return (await world.renderer.resolve(sourcesOf(application.spec), asked)).map(({ revision }) => revision);
  } catch (error) {
    if (error instanceof SourceFailure && error.cause instanceof ApiError) {
      throw failedPrecondition(`error resolving repo revision: ${quoted(error.cause)}`);
    }
    throw error;
  }
}
