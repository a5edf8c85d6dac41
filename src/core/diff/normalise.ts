import type { Manifest } from "../model/application.js";
import type { Revision } from "../model/brand.js";
import { isJsonObject, type Json, type JsonObject } from "../model/json.js";

/** Argo CD adds these to every rendered object. They depend on the application's name, not on the change. */
const TRACKING_ANNOTATIONS = new Set(["argocd.argoproj.io/tracking-id", "argocd.argoproj.io/installation-id"]);

/**
 * Gives equal manifests one form: no status, tracking, null members or empty metadata, keys in order, and a placeholder for the
 * commit of the render, which `ARGOCD_APP_REVISION` puts into values. That of a live object is unknown.
 */
export function normalise(manifest: Manifest, renderedAt: Revision | undefined): JsonObject {
  const { metadata } = manifest;
  const kept = {
    ...manifest,
    status: undefined,
    metadata: isJsonObject(metadata) ? normaliseMetadata(metadata) : metadata,
  };
  return membersCleaned(kept, placeholdersFor(renderedAt));
}

function normaliseMetadata(metadata: JsonObject): JsonObject {
  const { labels, annotations, namespace, ...rest } = metadata;
  const kept = isJsonObject(annotations)
    ? Object.fromEntries(Object.entries(annotations).filter(([key]) => !TRACKING_ANNOTATIONS.has(key)))
    : annotations;
  return {
    ...rest,
    ...(namespace === "" ? {} : { namespace }),
    ...(isEmpty(labels) ? {} : { labels }),
    ...(isEmpty(kept) ? {} : { annotations: kept }),
  };
}

function isEmpty(value: Json | undefined): boolean {
  return isJsonObject(value) && Object.values(value).every((member) => member === null || member === undefined);
}

/** A null member equals a missing one; in a list a null keeps its place. */
function cleaned(value: Json, placeholders: Placeholders): Json {
  if (typeof value === "string") return withoutCommit(value, placeholders);
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => cleaned(item, placeholders));
  return isJsonObject(value) ? membersCleaned(value, placeholders) : value;
}

function membersCleaned(value: JsonObject, placeholders: Placeholders): JsonObject {
  const members: (readonly [string, Json])[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== null && member !== undefined) members.push([key, cleaned(member, placeholders)]);
  }
  return Object.fromEntries(members);
}

const PLACEHOLDER = /<commit(?::([78]))?>/g;

/** More placeholders in one text would make the match slow, and no render has them. */
const MOST_COMMITS = 10;

/** Whether a text is the normalised one with a commit id of the same length in place of each placeholder, of which it has some. */
export function matchesCommit(normalised: string, text: string): boolean {
  if (normalised.search(PLACEHOLDER) === -1) return false;
  const parts: readonly (string | undefined)[] = normalised.split(PLACEHOLDER);
  if (parts.length > 2 * MOST_COMMITS + 1) return false;
  // Every second part is the length of a placeholder: 7, 8, or none for a whole id.
  const pattern = parts.map((part, at) => (at % 2 === 1 ? idOf(part) : literally(part ?? ""))).join("");
  return new RegExp(`^${pattern}$`).test(text);
}

function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

function idOf(length: string | undefined): string {
  return length === undefined ? "(?:[0-9a-f]{40}|[0-9a-f]{64})" : `[0-9a-f]{${length}}`;
}

interface Placeholders {
  /** What every form of the commit begins with; undefined without a commit. */
  readonly shortest: string | undefined;
  readonly forms: readonly (readonly [RegExp, string])[];
}

/** A different placeholder for each length: switching from the short to the long form is a change. */
function placeholdersFor(commit: Revision | undefined): Placeholders {
  if (commit === undefined) return { shortest: undefined, forms: [] };
  const shortest = commit.slice(0, 7);
  return {
    shortest,
    forms: [
      [wholeToken(commit), "<commit>"],
      [wholeToken(commit.slice(0, 8)), "<commit:8>"],
      [wholeToken(shortest), "<commit:7>"],
    ],
  };
}

function wholeToken(digits: string): RegExp {
  return new RegExp(`(?<![0-9A-Za-z])${digits}(?![0-9A-Za-z])`, "g");
}

/** Few texts contain a commit id, and searching for its beginning is quick. */
function withoutCommit(text: string, { shortest, forms }: Placeholders): string {
  if (shortest === undefined || !text.includes(shortest)) return text;
  return forms.reduce((replaced, [token, placeholder]) => replaced.replace(token, placeholder), text);
}
