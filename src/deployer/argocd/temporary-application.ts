import { createHash } from "node:crypto";
import { type ApplicationSpec, isMultiSource } from "../../core/model/application.js";
import type { DeployerFailureReason } from "../../core/model/errors.js";
import { isJsonObject, type JsonObject } from "../../core/model/json.js";
import type { Clock } from "../../core/ports/clock.js";
import type { RenderRequest } from "../../core/ports/deployer.js";
import {
  ANNOTATION_EXPIRES,
  ANNOTATION_FOR,
  LABEL_CHANGE_REQUEST,
  LABEL_TEMPORARY,
  TEMPORARY_NAME_PREFIX,
} from "../../names.js";
import {
  applicationItem,
  APPLICATIONS,
  getApplication,
  getItems,
  identity,
  LIST_FIELDS,
  type Parts,
  rawSources,
  type Target,
  toApplication,
  type WholeApplication,
} from "./application-api.js";
import { ArgoCdFailure, isAbsent } from "./argocd-failure.js";
import type { Client } from "./client.js";

/**
 * The same for each run of a change request, application, side and purpose, so that a run finds what an interrupted one left.
 * At most 53 characters, Helm's limit for a release name.
 */
export function temporaryName(request: RenderRequest): string {
  const { change, application, side } = request;
  const known = [change.host, change.repository, change.number, application.name, application.project, side];
  const identity = request.preview === true ? [...known, "preview"] : known;
  const hash = createHash("sha256").update(JSON.stringify(identity)).digest("hex").slice(0, 16);
  return `${TEMPORARY_NAME_PREFIX}${change.number}-${hash}`;
}

/**
 * The Application to create. It takes only the spec of the real one: with copied labels, annotations, owners or finalizers
 * Argo CD's controllers would treat it as theirs, and its deletion could reach live objects. The annotation keeps the
 * controller away from it (https://argo-cd.readthedocs.io/en/stable/user-guide/skip_reconcile/).
 */
export function temporaryApplication(request: RenderRequest, expires: Date): JsonObject {
  const { application, change } = request;
  return {
    metadata: {
      name: temporaryName(request),
      ...(application.namespace === undefined ? {} : { namespace: application.namespace }),
      labels: { [LABEL_TEMPORARY]: "true", [LABEL_CHANGE_REQUEST]: `${change.host}-${change.number}` },
      annotations: {
        "argocd.argoproj.io/skip-reconcile": "true",
        [ANNOTATION_FOR]: application.name,
        [ANNOTATION_EXPIRES]: expires.toISOString(),
      },
    },
    spec: temporarySpec(request),
  };
}

function temporarySpec(request: RenderRequest): ApplicationSpec {
  const { spec } = request.application;
  const sources = rawSources(spec).map((source, index) => pinnedSource(source, index + 1, request));
  const moved = ["syncPolicy", "sourceHydrator", "source", "sources"];
  const rest = Object.fromEntries(Object.entries(spec).filter(([member]) => !moved.includes(member)));
  return isMultiSource(spec) ? { ...rest, sources } : { ...rest, source: sources[0] };
}

function pinnedSource(source: JsonObject, position: number, request: RenderRequest): JsonObject {
  const pin = request.pins.find((one) => one.position === position);
  const pinned = pin === undefined ? source : { ...source, targetRevision: pin.revision };
  if (!request.helmPositions.includes(position)) return pinned;
  const helm = isJsonObject(source.helm) ? source.helm : {};
  // Otherwise Helm names the release after the temporary Application, and charts put that name everywhere.
  const releaseName =
    helm.releaseName === undefined || helm.releaseName === "" ? request.application.resourceName : helm.releaseName;
  return { ...pinned, helm: { ...helm, releaseName } };
}

const WAITS_MS = [500, 1000, 2000, 4000] as const;

/** Failures that a retry cannot cure. */
const FINAL: readonly DeployerFailureReason[] = ["refused", "forbidden", "unauthenticated"];

type Labelled = Pick<WholeApplication, "metadata">;

interface Removal {
  readonly target: Target;
  /** Whether it was just created, so that it can exist although the first request does not find it. */
  readonly created: boolean;
  /** A further condition on the present object; if it does not hold, nothing is deleted. */
  readonly only?: (found: Labelled) => boolean;
}

/**
 * Retries for some seconds; cannot be aborted. @returns Whether it existed and is deleted.
 * @throws {ArgoCdFailure} if it could not be deleted or is not temporary.
 */
export async function removeTemporary(client: Client, clock: Clock, removal: Removal): Promise<boolean> {
  const waits: number[] = [...WAITS_MS];
  for (;;) {
    const outcome = await attempt(client, removal).catch((error: unknown) => error);
    if (outcome === "gone") return true;
    if (outcome === "kept") return false;
    if (outcome === "absent" && !removal.created) return false;
    if (outcome instanceof ArgoCdFailure && FINAL.includes(outcome.reason)) throw outcome;
    const wait = waits.shift();
    if (wait === undefined) {
      if (outcome === "absent") return false;
      throw outcome;
    }
    await clock.sleep(wait);
  }
}

async function attempt(client: Client, removal: Removal): Promise<"gone" | "kept" | "absent"> {
  try {
    const found = await getApplication(client, removal.target);
    if (!isTemporary(found) || found.metadata.name !== removal.target.resourceName) {
      const message = `${removal.target.resourceName} does not have the label ${LABEL_TEMPORARY} and is not deleted`;
      throw new ArgoCdFailure("refused", message);
    }
    if (removal.only !== undefined && !removal.only(found)) return "kept";
  } catch (error) {
    if (isAbsent(error)) return "absent";
    throw error;
  }
  try {
    await deleteTemporary(client, removal.target);
  } catch (error) {
    if (!(error instanceof ArgoCdFailure && error.reason === "not-found")) throw error;
  }
  return "gone";
}

/**
 * The only deletion in svc: a temporary Application, without the resources that it seems to own (`cascade` defaults to true).
 * @throws {ArgoCdFailure} for any other name, before a request is made.
 */
export async function deleteTemporary(client: Client, target: Target): Promise<void> {
  if (!target.resourceName.startsWith(TEMPORARY_NAME_PREFIX)) {
    throw new ArgoCdFailure("refused", `${target.resourceName} is not a temporary Application and is not deleted`);
  }
  await client.call({
    method: "DELETE",
    path: [...APPLICATIONS, target.resourceName],
    query: { cascade: false, ...identity(target) },
    permission: "applications, delete",
  });
}

/** Requires both the name and the label: a real Application may have one of them by mistake. */
export function isTemporary({ metadata: { name, labels } }: Labelled): boolean {
  return name.startsWith(TEMPORARY_NAME_PREFIX) && labels[LABEL_TEMPORARY] === "true";
}

/**
 * Deletes expired temporary Applications, which interrupted runs left behind; another replica may be using the others.
 * @returns How many. Logs each that it cannot delete, and continues.
 */
export async function sweep({ client, clock, log, serverSettings }: Parts, now: Date): Promise<number> {
  const settings = await serverSettings();
  const query = { selector: `${LABEL_TEMPORARY}=true`, fields: LIST_FIELDS };
  const isLeftOver = (item: Labelled) => isTemporary(item) && isExpired(item, now);
  let deleted = 0;
  for (const item of await getItems(client, "temporary Applications", { query })) {
    const parsed = applicationItem.safeParse(item);
    if (!parsed.success || !isLeftOver(parsed.data)) continue;
    const target = toApplication(parsed.data, settings);
    try {
      // A new run may have taken the name since, with a new expiry, so the present object decides.
      if (await removeTemporary(client, clock, { target, created: false, only: isLeftOver })) deleted += 1;
    } catch (error) {
      log.warn({ application: target.resourceName, err: error }, "could not delete an expired temporary Application");
    }
  }
  return deleted;
}

/** An Application without a readable expiry was not created by svc, and stays. */
function isExpired({ metadata }: Labelled, now: Date): boolean {
  const expires = Date.parse(metadata.annotations[ANNOTATION_EXPIRES] ?? "");
  return expires <= now.getTime();
}
