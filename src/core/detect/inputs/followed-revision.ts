import type { Revision } from "../../model/brand.js";

/** The commit that a target revision names now, or why svc cannot tell which one Argo CD would take. */
export type FollowedRevision =
  { readonly kind: "commit"; readonly commit: Revision } | { readonly kind: "unclear"; readonly problem: string };

/**
 * Resolves a target revision as Argo CD does (v3.5 `lsRemote` in util/git/client.go), but takes none of two commits where
 * Argo CD takes either. Abbreviated commit ids and ranges of versions are not resolved: somebody who may push decides later
 * what they mean.
 * @param refs branches and tags by full name.
 */
export function followedRevision(
  targetRevision: string,
  refs: ReadonlyMap<string, Revision>,
  defaultBranch: string,
): FollowedRevision {
  if (isCommitId(targetRevision)) return { kind: "commit", commit: targetRevision.toLowerCase() as Revision };
  const name = targetRevision === "" ? "HEAD" : targetRevision;
  if (isRange(name)) return unclear(`${name} may mean a range of versions`);
  const named = [`refs/heads/${name}`, `refs/tags/${name}`];
  if (name.startsWith("refs/")) named.push(name);
  if (name === "HEAD") named.push(`refs/heads/${defaultBranch}`);
  const found = named.filter((ref) => refs.has(ref));
  const [commit, ...others] = new Set(found.map((ref) => refs.get(ref)));
  if (commit === undefined) return unclear(missing(name));
  return others.length === 0 ? { kind: "commit", commit } : unclear(`${name} means both ${found.join(" and ")}`);
}

/** Argo CD takes 40 digits as a commit id, even if a branch has that name. */
export function isCommitId(targetRevision: string): boolean {
  return /^[0-9A-Fa-f]{40}$/.test(targetRevision);
}

const VERSION = /^v?\d+(?:\.\d+){0,2}(?:-[\dA-Za-z-]+(?:\.[\dA-Za-z-]+)*)?(?:\+[\dA-Za-z-]+(?:\.[\dA-Za-z-]+)*)?$/;
/**
 * Whether a name may be a constraint of the library Masterminds/semver, which means the highest tag in it, before any branch
 * of that name. Some names of branches count as well, such as `2.x`.
 */
function isRange(name: string): boolean {
  if (VERSION.test(name)) return false;
  // Each class takes all it can, so that a long text costs no more than its length.
  const bare = name.replace(/^[\s=!<>~^]+/, "");
  const next = /^v?[\dxX*|]+([^]?)/.exec(bare)?.[1];
  return next !== undefined && /^[\s.,|<>=!~^+-]?$/.test(next);
}

function missing(name: string): string {
  if (/^[0-9A-Fa-f]{7,}$/.test(name)) return `${name} is an abbreviated commit id`;
  return `${name} is neither a branch nor a tag of this repository`;
}

function unclear(reason: string): FollowedRevision {
  return { kind: "unclear", problem: `${reason}, so svc cannot tell which commit Argo CD would deploy` };
}
