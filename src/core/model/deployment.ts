import type { ApplicationSpec } from "./application.js";
import type { ApplicationName, Revision } from "./brand.js";
import type { ChangeRequestRef } from "./change-request.js";

/** "Deployed, not merged": this change request's commit runs in the cluster, its branch is not merged yet. */
export interface Deployment {
  readonly application: ApplicationName;
  readonly change: ChangeRequestRef;
  /** The head commit that was (or was tried to be) deployed last. */
  readonly revision: Revision;
  /** Written before the first write to Argo CD as `started`; what became of it afterwards. */
  readonly outcome: "started" | "succeeded" | "failed" | "unknown";
  /** The live spec from before this change request's first sync. */
  readonly specBefore: ApplicationSpec;
  /** The spec that we wrote; undefined while the change request left the definition alone. */
  readonly specWritten: ApplicationSpec | undefined;
  /** Logins whose approval the commit was deployed under; empty when none was given. */
  readonly approvers: readonly string[];
  readonly user: string;
  /** The run whose sync it speaks of; undefined in records of older versions. */
  readonly run?: string | undefined;
  /** When it was written last. ISO 8601. */
  readonly timestamp: string;
}

/** Whether this commit was deployed for sure; a failed or unfinished sync says nothing. */
export function isDeployedAt({ revision, outcome }: Deployment, commit: Revision): boolean {
  return revision === commit && outcome === "succeeded";
}
