import { isHydrated, sourcesOf, type Source } from "../../model/application-spec.js";
import type { ApplicationSpec } from "../../model/application.js";
import type { InputSet } from "../../model/input-set.js";

/**
 * Whether an application is rendered only from the change request's commit and from things that never change: every
 * source is at one of `positions` (those that get the commit), a chart with an exact version, or another repository at a
 * full commit id. A version range, a branch, a URL, a remote Kustomize base and anything unknown make it false.
 */
export function readsOnlyPinned(spec: ApplicationSpec, positions: readonly number[], inputs: InputSet): boolean {
  if (positions.length === 0 || isHydrated(spec)) return false;
  if (inputs.some(({ whole, remote }) => remote || whole !== undefined)) return false;
  return sourcesOf(spec).every((source) => positions.includes(source.position) || isPinned(source));
}

/** Whether a chart's version names exactly one package: no range, no `v1`, no `latest`. */
export function isExactVersion(version: string): boolean {
  return /^v?\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/.test(version);
}

function isPinned({ chart, repoURL, targetRevision }: Source): boolean {
  if (/^\s*oci:/i.test(repoURL)) return isExactVersion(targetRevision) || /^sha256:[0-9a-f]{64}$/.test(targetRevision);
  if (chart !== undefined) return isExactVersion(targetRevision);
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(targetRevision);
}
