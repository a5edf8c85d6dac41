import { z } from "zod";
import type { Manifest } from "../../core/model/application.js";
import { isJsonObject } from "../../core/model/json.js";
import type { Json, JsonObject } from "../../core/model/json.js";
import { instanceName } from "./application-names.js";
import type { ResourceId } from "./application-names.js";
import { ArgoCdFailure } from "./argocd-failure.js";
import { parseAnswer } from "./parse-answer.js";
import type { ServerSettings } from "./server-settings.js";
import { TRACKING_ANNOTATION } from "./to-application.js";

const INSTALLATION_ANNOTATION = "argocd.argoproj.io/installation-id";
/** Kubernetes' limit for the value of a label; Argo CD cuts the instance name there. */
const LABEL_LIMIT = 63;

const manifestsAnswer = z.object({ manifests: z.array(z.string()).nullish() });

/** Which name the manifests were rendered under, and which they are to show. */
export interface RenderedAs {
  readonly rendered: ResourceId;
  readonly real: ResourceId;
  readonly settings: ServerSettings;
}

/**
 * The answer of Argo CD's manifests call without what tracking and the name of a temporary Application put into it, so that
 * two renders differ only where a sync would change something. The values of Secrets stay as masked as they come.
 * @throws {ArgoCdFailure} when a manifest cannot be read: leaving it out would hide its changes.
 */
export function normaliseManifests(answer: unknown, as: RenderedAs): readonly Manifest[] {
  const { manifests } = parseAnswer(manifestsAnswer, answer, "rendered manifests");
  return (manifests ?? []).flatMap((text) => objectsIn(parseJson(text))).map((manifest) => normalise(manifest, as));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ArgoCdFailure("failed", "Argo CD rendered a manifest that is no JSON", { cause: error });
  }
}

function objectsIn(value: unknown): readonly JsonObject[] {
  if (value === null) return [];
  if (!isJsonObject(value)) throw new ArgoCdFailure("failed", "Argo CD rendered a manifest that is no object");
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

/** With the method `annotation` the instance label belongs to the chart and stays as it is. */
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
 * The temporary name ends in a hash, so that it can stand for nothing else: wherever `ARGOCD_APP_NAME` or an unpinned
 * release put it, alone or inside a longer text, the real one belongs.
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
