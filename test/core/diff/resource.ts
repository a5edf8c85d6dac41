import { diffManifests } from "../../../src/core/diff/manifest-diff.js";
import type { Manifest } from "../../../src/core/model/application.js";
import { revision } from "../../../src/core/model/brand.js";
import type { ManifestDiff } from "../../../src/core/model/plan/manifest-diff.js";

export const BASE = revision("0123456789abcdef0123456789abcdef01234567");
export const HEAD = revision("fedcba9876543210fedcba9876543210fedcba98");

/** `apps/v1/Deployment web` with these members; `web` has the namespace of the application. */
export function object(type: string, name: string, members: Manifest = {}, metadata: Manifest = {}): Manifest {
  const cut = type.lastIndexOf("/");
  return { apiVersion: type.slice(0, cut), kind: type.slice(cut + 1), metadata: { name, ...metadata }, ...members };
}

/** An object with a sync option of its own. */
export function withOption(manifest: Manifest, option: string): Manifest {
  const metadata = manifest.metadata as Manifest;
  return { ...manifest, metadata: { ...metadata, annotations: { "argocd.argoproj.io/sync-options": option } } };
}

export function diff(
  base: readonly Manifest[],
  head: readonly Manifest[],
  syncOptions: readonly string[] = [],
): ManifestDiff {
  return diffManifests({
    base,
    head,
    destinationNamespace: "guestbook",
    baseNamespace: "guestbook",
    syncOptions,
    placeholders: { base: BASE, head: HEAD },
    redact: [],
  });
}
