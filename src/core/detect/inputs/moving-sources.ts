import { isHydrated, sourcesOf, type Source } from "../../model/application-spec.js";
import type { ApplicationSpec } from "../../model/application.js";
import type { ChangeRequest } from "../../model/change-request.js";
import { isOwnRepository } from "../tree/repository-url.js";
import { isCommitId } from "./followed-revision.js";

/** What decides which sources a change request moves. */
export type Branches = Pick<ChangeRequest, "repositoryUrls" | "baseBranch" | "defaultBranch" | "repository">;

/**
 * 1-based positions of the sources that get the change request's commit: those of its repository that follow its base
 * branch, `ref` sources included (Argo CD refuses two revisions of one repository in an application). All others keep
 * their own revision. An application with a source hydrator has none: Argo CD syncs only what it has hydrated.
 */
export function movingPositions(spec: ApplicationSpec, change: Branches): readonly number[] {
  return movingAmong(ownSources(spec, change), spec, change);
}

/** The same, given the application's `ownSources`. */
export function movingAmong(own: readonly Source[], spec: ApplicationSpec, change: Branches): readonly number[] {
  if (isHydrated(spec)) return [];
  return own.filter((source) => followsBase(source.targetRevision, change)).map(({ position }) => position);
}

/** The Git sources of the change request's repository, at any revision. */
export function ownSources(spec: ApplicationSpec, change: Branches): readonly Source[] {
  return sourcesOf(spec).filter((source) => isOwnSource(source, change));
}

/** Whether it reads the change request's repository with git, at any revision. */
export function isOwnSource({ chart, repoURL }: Source, change: Pick<Branches, "repositoryUrls">): boolean {
  return chart === undefined && !/^\s*oci:/i.test(repoURL) && isOwnRepository(change, repoURL);
}

/** Whether a target revision means the tip of the change request's base branch. */
export function followsBase(targetRevision: string, { baseBranch, defaultBranch }: Branches): boolean {
  if (isCommitId(targetRevision)) return false;
  if (targetRevision === "" || targetRevision === "HEAD") return baseBranch === defaultBranch;
  // A branch can have a name that begins with `refs/heads/`.
  return targetRevision.replace(/^refs\/heads\//, "") === baseBranch;
}

/** Why a change request does not move all of an application's own sources; undefined if it does. */
export function notMovingReason(spec: ApplicationSpec, change: Branches): string | undefined {
  if (isHydrated(spec)) {
    return "it uses Argo CD's source hydrator, which deploys only what it has hydrated itself: it takes effect at the merge";
  }
  const own = ownSources(spec, change);
  if (own.length === 0) return `none of its sources is in ${change.repository}`;
  const others = own.filter((source) => !followsBase(source.targetRevision, change));
  if (others.length === 0) return undefined;
  const several = sourcesOf(spec).length > 1;
  const followed = others.map((source) => {
    const name = source.targetRevision === "" ? `HEAD (${change.defaultBranch})` : source.targetRevision;
    return several ? `source ${source.position} follows ${name}` : `it follows ${name}`;
  });
  return `${followed.join(", ")}, not ${change.baseBranch}: this change does not reach it before that moves`;
}
