import * as z from "zod";
import type { Manifest } from "../../core/model/application.js";
import { isJsonObject, isNestedDeeper, type Json, type JsonObject } from "../../core/model/json.js";
import type { Task } from "../../core/ports/compute.js";
import { instanceName, type ResourceId } from "./application-names.js";
import { ArgoCdFailure, parseAnswer, readAnswer } from "./argocd-failure.js";
import { MAX_DEPTH, type Read, reading } from "./read-large.js";
import type { ServerSettings } from "./server-settings.js";
import { TRACKING_ANNOTATION } from "./to-application.js";

const INSTALLATION_ANNOTATION = "argocd.argoproj.io/installation-id";
/** Kubernetes' limit for the value of a label; Argo CD cuts the instance name there. */
const LABEL_LIMIT = 63;

const manifestsAnswer = z.object({ manifests: z.array(z.string()).nullish() });

/** The name under which the manifests were rendered, and the name to show. */
export interface RenderedAs {
  readonly rendered: ResourceId;
  readonly real: ResourceId;
  readonly settings: Pick<ServerSettings, "labelKey" | "tracking">;
}

/** Reads Argo CD's answer about the manifests of one application. */
export const readManifestsTask: Task<
  { readonly answer: string; readonly as: RenderedAs },
  Read<readonly Manifest[]>
> = {
  name: "read-manifests",
  run: ({ answer, as }) => reading(() => normaliseManifests(readAnswer(answer), as)),
};

/**
 * Removes what tracking and the name of a temporary Application add to rendered manifests, so that two renders differ only
 * where a sync would change something. Argo CD has already masked the values of Secrets.
 * @throws {ArgoCdFailure} if a manifest cannot be read: skipping it would hide its changes.
 */
export function normaliseManifests(answer: unknown, as: RenderedAs): readonly Manifest[] {
  const { manifests } = parseAnswer(manifestsAnswer, answer, "rendered manifests");
  return (manifests ?? []).flatMap((text) => objectsIn(parseJson(text))).map((manifest) => normalise(manifest, as));
}

function parseJson(text: string): unknown {
  const value = parsed(text);
  if (!isNestedDeeper(MAX_DEPTH, value)) return value;
  throw new ArgoCdFailure("failed", `Argo CD rendered an object that is nested deeper than ${MAX_DEPTH} levels`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ArgoCdFailure("failed", "Argo CD rendered a manifest that is not JSON", { cause: error });
  }
}

function objectsIn(value: unknown): readonly JsonObject[] {
  if (value === null) return [];
  if (!isJsonObject(value)) throw new ArgoCdFailure("failed", "Argo CD rendered a manifest that is not an object");
  if (value.kind !== "List" || value.apiVersion !== "v1") return [value];
  return Array.isArray(value.items) ? value.items.flatMap(objectsIn) : [];
}

function normalise(manifest: JsonObject, as: RenderedAs): Manifest {
  const plain = withoutTracking(manifest, as);
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

/**
 * Replaces the temporary name wherever `ARGOCD_APP_NAME` or an unpinned release put it, also inside a longer text. It ends in
 * a hash, so it cannot mean anything else.
 */
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
