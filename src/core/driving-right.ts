import { matchesName } from "../config/pattern.js";
import type { Settings } from "../config/settings.js";
import { ANNOTATION_REPOSITORY } from "../names.js";
import { sourcesOf } from "./application-spec.js";
import type { Application, LiveApplication } from "./application.js";
import type { ChangeRequest } from "./change-request.js";
import { isOwnRepository } from "./detect/repository-url.js";

export interface DrivingClaim {
  readonly live: LiveApplication;
  /** The repository's base branch holds the Application resource. */
  readonly holdsResource: boolean;
  /** Every application that Argo CD shows, for looking up the parent. */
  readonly everyApplication: readonly Application[];
  readonly change: ChangeRequest;
  readonly settings: Settings;
}

/**
 * Whether this repository may drive the application; otherwise the sentence that says why not and the cure. Decided on
 * the live object alone, never on the change request's copy of it: a mapping by `paths` gives no right.
 */
export function drivingObstacle(claim: DrivingClaim): string | undefined {
  const { live, change } = claim;
  if (pointsHere(live, change) || isNamed(claim) || (claim.holdsResource && parentPointsHere(claim))) return undefined;
  return (
    `no source of the live Application points at ${change.repository}. To let this repository deploy it, set the annotation ` +
    `${ANNOTATION_REPOSITORY}: ${change.repository} on the live Application in Argo CD, or list the repository under ` +
    `application_repositories in the server's configuration`
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

/** The annotation may say `acme/deploy` or a URL of the repository. */
function namesRepository(text: string, change: ChangeRequest): boolean {
  const named = text.trim();
  return named.includes(":") ? isOwnRepository(change, named) : named.toLowerCase() === change.repository.toLowerCase();
}

function parentPointsHere({ live, everyApplication, change }: DrivingClaim): boolean {
  const parent = everyApplication.find(({ name }) => name === live.parent);
  return parent !== undefined && pointsHere(parent, change);
}
