import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import * as z from "zod";
import { isTracked } from "../../core/diff/manifest-key.js";
import { type ApplicationSpec, isMultiSource, type Manifest, type Pin } from "../../core/model/application.js";
import { changeRequestKey } from "../../core/model/change-request.js";
import { isJsonObject, type Json, type JsonObject } from "../../core/model/json.js";
import type { Task } from "../../core/ports/compute.js";
import type { Deployer, RenderRequest } from "../../core/ports/deployer.js";
import { LABELS, TEMPORARY_NAME_PREFIX } from "../../names.js";
import {
  APPLICATIONS,
  createSemaphore,
  identity,
  type Parts,
  rawSources,
  readCall,
  requireExactKeys,
  type ResourceId,
  type ServerSettings,
  type Target,
  TRACKING_ANNOTATION,
} from "./application-api.js";
import { removeTemporary } from "./applications.js";
import { ArgoCdFailure, GRPC, isAbsent, parseObjectText } from "./argocd-failure.js";
import type { Client, Query } from "./client.js";
import { arrayAnswer, type Read, readArray, reading, readLarge, type UnreadAnswer } from "./unread-answer.js";

/** Another replica of Argo CD's API server may not know a new Application yet; 10 seconds in total. */
const APPEARANCE_WAITS_MS = [250, 750, 1500, 2500, 5000] as const;

/** Characters. Answers over this are read one at a time: reading one takes several times its size. */
const LARGE_ANSWER = 4 * 1024 * 1024;

interface Rendered extends Pick<RenderedAs, "rendered" | "settings"> {
  readonly answer: UnreadAnswer;
}

/** Renders at most `renderConcurrency` applications at a time, in the order of the calls. */
export function createRender({
  config: { renderTimeoutMs: timeoutMs, renderConcurrency },
  client,
  clock,
  log,
  compute,
  serverSettings,
}: Parts): Deployer["renderManifests"] {
  const semaphore = createSemaphore(renderConcurrency);
  const largeAnswers = createSemaphore(1);

  function getManifests(target: Target, pins: PinsQuery, fresh: boolean, signal: AbortSignal): Promise<UnreadAnswer> {
    const query = { ...identity(target), ...pins, ...(fresh ? { noCache: true } : {}) };
    return client.unread(readCall([target.resourceName, "manifests"], { query, timeoutMs, signal }));
  }

  async function inPlace(request: RenderRequest, signal: AbortSignal): Promise<Rendered> {
    const { application, fresh } = request;
    const settings = await serverSettings();
    const answer = await getManifests(application, atPins(request), fresh, signal);
    const { resourceName, namespace } = application;
    return { answer, rendered: { resourceName, namespace }, settings };
  }

  async function temporary(request: RenderRequest, signal: AbortSignal): Promise<Rendered> {
    const { application, fresh } = request;
    const settings = await serverSettings();
    checkPins(request);
    signal.throwIfAborted();
    const { namespace, project } = application;
    const target = { resourceName: temporaryName(request), namespace, project };
    await create(request, target);
    try {
      const answer = await whenItAppears(() => getManifests(target, {}, fresh, signal), signal);
      return { answer, rendered: target, settings };
    } finally {
      await cleanUp(target);
    }
  }

  /** Takes no signal: an aborted creation could still happen after the clean-up. */
  async function create(request: RenderRequest, target: Target): Promise<void> {
    const expires = new Date(clock.now().getTime() + 2 * timeoutMs);
    const resource = temporaryApplication(request, expires);
    try {
      await postApplication(client, resource).catch(async (error: unknown) => {
        // The same code means an invalid spec, or a name that an interrupted run left behind.
        const taken = error instanceof ArgoCdFailure && error.code === GRPC.invalidArgument;
        if (!taken || !(await removeTemporary(client, clock, { target, created: false }))) throw error;
        await postApplication(client, resource);
      });
    } catch (error) {
      if (error instanceof ArgoCdFailure && error.maybeDone) await cleanUp(target);
      throw error;
    }
  }

  async function whenItAppears(ask: () => Promise<UnreadAnswer>, signal: AbortSignal): Promise<UnreadAnswer> {
    for (const wait of APPEARANCE_WAITS_MS) {
      try {
        return await ask();
      } catch (error) {
        if (!isAbsent(error)) throw error;
        await clock.sleep(wait, signal);
      }
    }
    return ask();
  }

  async function cleanUp(target: Target): Promise<void> {
    try {
      await removeTemporary(client, clock, { target, created: true });
    } catch (error) {
      const text = "could not delete a temporary Application; the sweep tries again after its expiry";
      log.error({ application: target.resourceName, namespace: target.namespace, err: error }, text);
    }
  }

  return async (request, signal) => {
    const work = request.mode === "in-place" ? inPlace : temporary;
    try {
      const { answer, ...of } = await semaphore.run(() => work(request, signal), signal);
      // Lets the next request start before this answer is processed.
      await setImmediate();
      const real = { resourceName: request.application.resourceName, namespace: request.application.namespace };
      const limits = { owner: changeRequestKey(request.change), signal, what: "what Argo CD rendered" };
      const read = () => readLarge(compute, readManifestsTask, { answer, as: { ...of, real } }, limits);
      return await (sizeOfAnswer(answer) > LARGE_ANSWER ? largeAnswers.run(read, signal) : read());
    } catch (error) {
      throw renderFailure(error);
    }
  };
}

/** Characters of an answer, or the bytes that one in gzip claims to hold. https://www.rfc-editor.org/rfc/rfc1952 */
function sizeOfAnswer(answer: UnreadAnswer): number {
  if (typeof answer === "string") return answer.length;
  const { buffer, byteOffset, byteLength } = answer.gzip;
  return new DataView(buffer, byteOffset, byteLength).getUint32(byteLength - 4, true);
}

/** Skips validation, which would render a second time, at a revision that may not have the new paths yet. */
async function postApplication(client: Client, application: JsonObject): Promise<void> {
  requireExactKeys(application);
  const query = { validate: false } as const;
  await client.call({
    method: "POST",
    path: APPLICATIONS,
    query,
    body: application,
    permission: "applications, create",
  });
}

type PinsQuery = Pick<Query, "revision" | "sourcePositions" | "revisions">;

/** Parameters to render the live spec at the pins. Argo CD silently ignores those for the other kind of spec. */
function atPins(request: RenderRequest): PinsQuery {
  const pins = checkPins(request);
  if (pins.length === 0) return {};
  if (!isMultiSource(request.application.spec)) return { revision: pins[0]?.revision };
  return { sourcePositions: pins.map((pin) => pin.position), revisions: pins.map((pin) => pin.revision) };
}

function checkPins(request: RenderRequest): readonly Pin[] {
  const { application, pins } = request;
  const count = rawSources(application.spec).length;
  const wrong = pins.find((pin) => pin.position < 1 || pin.position > count);
  if (wrong === undefined) return pins;
  throw new ArgoCdFailure("failed", `${application.name} has ${count} sources and no source ${wrong.position}`);
}

/**
 * A render's "not found" or "invalid" is about a repository, a file or a chart, not about the application: only failures of
 * the connection and the token keep their reason.
 */
function renderFailure(error: unknown): unknown {
  if (!(error instanceof ArgoCdFailure)) return error;
  if (error.reason !== "not-found" && error.reason !== "refused") return error;
  return new ArgoCdFailure("failed", error.message, { code: error.code, cause: error });
}

const INSTALLATION_ANNOTATION = "argocd.argoproj.io/installation-id";
/** Kubernetes' limit for the value of a label; Argo CD cuts the instance name there. */
const LABEL_LIMIT = 63;

const manifestsAnswer = arrayAnswer("manifests", z.string());

interface RenderedAs {
  readonly rendered: ResourceId;
  readonly real: ResourceId;
  readonly settings: Pick<ServerSettings, "labelKey" | "tracking">;
}

export const readManifestsTask: Task<
  { readonly answer: UnreadAnswer; readonly as: RenderedAs },
  Read<readonly Manifest[]>
> = {
  name: "read-manifests",
  run: ({ answer, as }) =>
    reading(async () => {
      const read = (text: string) => normaliseManifests(text, as);
      return (await readArray(manifestsAnswer, answer, "rendered manifests", read)).flat();
    }),
};

/**
 * Removes what tracking and a temporary name add, so that two renders differ only where a sync would change something. Argo CD
 * has masked the values of Secrets. @throws {ArgoCdFailure} if a manifest cannot be read: skipping it would hide its changes.
 */
function normaliseManifests(text: string, as: RenderedAs): readonly Manifest[] {
  return objectsIn(parseObjectText(text, "rendered a manifest")).map((manifest) => normalise(manifest, as));
}

function objectsIn(value: unknown): readonly JsonObject[] {
  if (value === null) return [];
  if (!isJsonObject(value)) throw new ArgoCdFailure("failed", "Argo CD rendered a manifest that is not an object");
  if (value.kind !== "List" || value.apiVersion !== "v1") return [value];
  return Array.isArray(value.items) ? value.items.flatMap(objectsIn) : [];
}

function normalise(manifest: JsonObject, as: RenderedAs): Manifest {
  const plain = isTracked(manifest) ? withoutTracking(manifest, as) : manifest;
  return as.rendered.resourceName === as.real.resourceName ? plain : renamed(plain, as);
}

function withoutTracking(manifest: JsonObject, as: RenderedAs): JsonObject {
  const metadata = manifest.metadata;
  if (!isJsonObject(metadata)) return manifest;
  const annotations = withoutAnnotations(metadata.annotations);
  const labels = withRealInstance(metadata.labels, as);
  const others = Object.entries(metadata).filter(([member]) => member !== "annotations" && member !== "labels");
  const cleaned: Json = {
    ...Object.fromEntries(others),
    ...(annotations === undefined ? {} : { annotations }),
    ...(labels === undefined ? {} : { labels }),
  };
  return { ...manifest, metadata: cleaned };
}

function withoutAnnotations(annotations: Json | undefined): Json | undefined {
  if (!isJsonObject(annotations)) return annotations;
  const kept = Object.entries(annotations).filter(
    ([name]) => name !== TRACKING_ANNOTATION && name !== INSTALLATION_ANNOTATION,
  );
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** With the tracking method `annotation` the instance label belongs to the chart. */
function withRealInstance(labels: Json | undefined, { rendered, real, settings }: RenderedAs): Json | undefined {
  if (!isJsonObject(labels) || settings.tracking === "annotation") return labels;
  const value = labels[settings.labelKey];
  if (value !== instanceName(rendered) && value !== labelValue(instanceName(rendered))) return labels;
  return { ...labels, [settings.labelKey]: labelValue(instanceName(real)) };
}

function labelValue(instance: string): string {
  return instance.length <= LABEL_LIMIT ? instance : instance.slice(0, LABEL_LIMIT).replace(/[^A-Za-z0-9]+$/, "");
}

/** Replaces the temporary name, also inside a longer text: it ends in a hash of the head's id, which no commit can contain. */
function renamed(manifest: JsonObject, { rendered, real }: RenderedAs): JsonObject {
  const token = new RegExp(`(?<![A-Za-z0-9])${rendered.resourceName}(?![A-Za-z0-9])`, "g");
  const inText = (text: string) => text.replace(token, real.resourceName);
  const inValue = (value: Json): Json => {
    if (typeof value === "string") return inText(value);
    if (Array.isArray(value)) return (value as readonly Json[]).map(inValue);
    return isJsonObject(value) ? inObject(value) : value;
  };
  const inObject = (value: JsonObject): JsonObject => {
    const members = Object.entries(value).flatMap(([key, member]) =>
      member === undefined ? [] : [[inText(key), inValue(member)] as const],
    );
    return Object.fromEntries(members);
  };
  return inObject(manifest);
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
      labels: { [LABELS.temporary]: "true", [LABELS.changeRequest]: `${change.host}-${change.number}` },
      annotations: {
        "argocd.argoproj.io/skip-reconcile": "true",
        [LABELS.for]: application.name,
        [LABELS.expires]: expires.toISOString(),
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

/** An application's name in Argo CD's tracking and in `ARGOCD_APP_NAME`: `<namespace>_<name>` outside its own namespace. */
function instanceName(resource: ResourceId): string {
  return resource.namespace === undefined ? resource.resourceName : `${resource.namespace}_${resource.resourceName}`;
}

/**
 * The same for each run of a head, application, side and purpose, so that a run finds what an interrupted one left. Whoever writes
 * manifests must not know it before. At most 53 characters, Helm's limit for a release name.
 */
export function temporaryName(request: RenderRequest): string {
  const { change, application, side } = request;
  const { host, repository, number, headRevision } = change;
  const known = [host, repository, number, headRevision, application.name, application.project, side];
  const identity = request.preview === true ? [...known, "preview"] : known;
  const hash = createHash("sha256").update(JSON.stringify(identity)).digest("hex").slice(0, 16);
  return `${TEMPORARY_NAME_PREFIX}${number}-${hash}`;
}
