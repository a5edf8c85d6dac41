import { createHash } from "node:crypto";
import { isAutoSynced, projectOf, sourcesOf } from "../model/application-spec.js";
import type { ApplicationSpec } from "../model/application.js";
import { destinationOf, type Destination } from "../model/destination.js";
import type { DefinitionChange, Move } from "../model/effect.js";
import { isJsonObject } from "../model/json.js";
import { specEqual, specText } from "../model/spec-equality.js";
import { withoutCredentials } from "../secrets/hide-in-text.js";

/** What differs between a definition and the ones that it replaces: the target branch's and the live one. */
export function definitionChange(head: ApplicationSpec, before: readonly ApplicationSpec[]): DefinitionChange {
  const replaced = before.filter((spec) => !specEqual(spec, head));
  if (replaced.length === 0) return { kind: "unchanged" };
  const moves = replaced.flatMap((spec) => movesBetween(spec, head));
  return { kind: "changed", moves: [...new Map(moves.map((move) => [JSON.stringify(move), move])).values()] };
}

/** One text for definitions that mean the same to Argo CD. */
export function digestOf(spec: ApplicationSpec): string {
  return createHash("sha256").update(specText(spec)).digest("hex").slice(0, DIGEST_DIGITS);
}

/** Nobody can find another definition with the same 128 bits. */
const DIGEST_DIGITS = 32;

function movesBetween(from: ApplicationSpec, to: ApplicationSpec): readonly Move[] {
  const known = new Set(sourcesOf(from).map(({ repoURL }) => repoURL));
  const urls = [...new Set(sourcesOf(to).map(({ repoURL }) => repoURL))].filter((url) => !known.has(url));
  const [left, right] = [destinationOf(from), destinationOf(to)];
  const moved = left.cluster !== right.cluster || left.namespace !== right.namespace;
  return [
    ...(urls.length === 0 ? [] : [{ what: "repository", from: addresses([...known]), to: addresses(urls) } as const]),
    ...(projectOf(from) === projectOf(to)
      ? []
      : [{ what: "project", from: projectOf(from), to: projectOf(to) } as const]),
    ...(moved ? [{ what: "destination", from: destinationText(left), to: destinationText(right) } as const] : []),
    ...(startsAutoSync(from, to) ? [{ what: "auto-sync", from: "off", to: "on" } as const] : []),
  ];
}

function addresses(urls: readonly string[]): string {
  return urls.map((url) => withoutCredentials(url, "every")).join(", ");
}

/** `<cluster>/<namespace>` for people. */
function destinationText({ cluster, namespace }: Destination): string {
  return [cluster, namespace].filter((part) => part !== "").join("/");
}

/** Servers before v3.1 do not know `enabled: false`: for them a new `automated` switches auto-sync on whatever it holds. */
function startsAutoSync(from: ApplicationSpec, to: ApplicationSpec): boolean {
  return (isAutoSynced(to) && !isAutoSynced(from)) || (isAutomated(to) && !isAutomated(from));
}

function isAutomated({ syncPolicy }: ApplicationSpec): boolean {
  const automated = isJsonObject(syncPolicy) ? syncPolicy.automated : undefined;
  return automated !== undefined && automated !== null;
}
