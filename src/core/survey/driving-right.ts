import { matchesName } from "../../config/pattern.js";
import type { Settings } from "../../config/settings.js";
import { ANNOTATION_REPOSITORY } from "../../names.js";
import { movingPositions } from "../detect/inputs/moving-sources.js";
import { readsRepository } from "../detect/scan/git-generators.js";
import { isOwnRepository } from "../detect/tree/repository-url.js";
import { sourcesOf } from "../model/application-spec.js";
import type { Application, ApplicationSet, LiveApplication } from "../model/application.js";
import type { ChangeRequest } from "../model/change-request.js";

export interface DrivingClaim {
  readonly live: LiveApplication;
  /** The base branch contains the Application resource, or that of the ApplicationSet that generates it. */
  readonly holdsResource: boolean;
  /** The ApplicationSet that owns the live Application, as Argo CD runs it; undefined if there is none or it was not read. */
  readonly owner: ApplicationSet | undefined;
  /** Where to look up the parent. */
  readonly everyApplication: readonly Application[];
  readonly change: ChangeRequest;
  readonly settings: Settings;
}

/**
 * Why this repository may not drive the application, with the cure; undefined if it may. Decided on the live object alone,
 * never on the change request's copy. A mapping by `paths` gives no right.
 */
export function drivingObstacle(claim: DrivingClaim): string | undefined {
  const { live, change, holdsResource, owner } = claim;
  if (pointsHere(live, change) || isNamed(claim)) return undefined;
  const setPointsHere = owner !== undefined && readsRepository(owner, change);
  if (holdsResource && (setPointsHere || parentPointsHere(claim))) return undefined;
  return (
    `no source of the live Application points at ${change.repository}. To let this repository deploy it, set the annotation ` +
    `${ANNOTATION_REPOSITORY}: ${change.repository} on the live Application in Argo CD, or list the repository under ` +
    `application_repositories in the server's configuration`
  );
}

/**
 * Why a change request into this base branch may not change the definition, with the cure; undefined if it may. Anybody
 * with write access can create a branch with weaker rules and target that, so only the default branch may, and branches
 * that the live Application or its parent follows.
 */
export function branchObstacle({ live, everyApplication, change }: DrivingClaim): string | undefined {
  if (change.baseBranch === change.defaultBranch) return undefined;
  const parent = everyApplication.find(({ name }) => name === live.parent);
  if ([live, parent].some((one) => one !== undefined && movingPositions(one.spec, change).length > 0)) return undefined;
  return (
    `neither the live Application nor its parent follows ${change.baseBranch}, so its definition is not changed from there before the merge. ` +
    `Merge the change of the definition into ${change.defaultBranch} first`
  );
}

function pointsHere(application: Application, change: ChangeRequest): boolean {
  return sourcesOf(application.spec).some(
    (source) => source.chart === undefined && isOwnRepository(change, source.repoURL),
  );
}

function isNamed({ live, change, settings }: DrivingClaim): boolean {
  const annotated = live.annotations[ANNOTATION_REPOSITORY];
  if (annotated !== undefined && namesRepository(annotated, change)) return true;
  return settings.applicationRepositories.some(
    (entry) =>
      matchesName(entry.application, live.name) &&
      entry.repositories.some((pattern) => matchesName(pattern, change.repository)),
  );
}

/** The annotation is `acme/deploy` or a URL of the repository. */
function namesRepository(text: string, change: ChangeRequest): boolean {
  const named = text.trim();
  return named.includes(":") ? isOwnRepository(change, named) : named.toLowerCase() === change.repository.toLowerCase();
}

function parentPointsHere({ live, everyApplication, change }: DrivingClaim): boolean {
  const parent = everyApplication.find(({ name }) => name === live.parent);
  return parent !== undefined && pointsHere(parent, change);
}
