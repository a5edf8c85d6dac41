import type { DeployerFailureReason } from "../../core/model/errors.js";
import type { Clock } from "../../core/ports/clock.js";
import { LABEL_TEMPORARY, TEMPORARY_NAME_PREFIX } from "../../names.js";
import { deleteTemporary, getApplication, type Target } from "./application-calls.js";
import type { WholeApplication } from "./application-schema.js";
import { ArgoCdFailure, isAbsent } from "./argocd-failure.js";
import type { Client } from "./client.js";

const WAITS_MS = [500, 1000, 2000, 4000] as const;

/** A retry cannot help. */
const FINAL: readonly DeployerFailureReason[] = ["refused", "forbidden", "unauthenticated"];

export interface Removal {
  readonly target: Target;
  /** It may have been created a moment ago, so it can exist although the first look does not find it. */
  readonly created: boolean;
  /** A further condition on the present object; if it does not hold, nothing is deleted. */
  readonly only?: (found: WholeApplication) => boolean;
}

/**
 * Checks that an Application is temporary and deletes it. Retries for some seconds; cannot be aborted.
 * @returns Whether it existed and is deleted.
 * @throws {ArgoCdFailure} if it could not be deleted or is not temporary.
 */
export async function removeTemporary(client: Client, clock: Clock, removal: Removal): Promise<boolean> {
  const waits: number[] = [...WAITS_MS];
  for (;;) {
    const outcome = await attempt(client, removal).catch((error: unknown) => error);
    if (outcome === "gone") return true;
    if (outcome === "kept") return false;
    if (outcome === "absent" && !removal.created) return false;
    if (outcome instanceof ArgoCdFailure && FINAL.includes(outcome.reason)) throw outcome;
    const wait = waits.shift();
    if (wait === undefined) {
      if (outcome === "absent") return false;
      throw outcome;
    }
    await clock.sleep(wait);
  }
}

async function attempt(client: Client, removal: Removal): Promise<"gone" | "kept" | "absent"> {
  try {
    const found = await getApplication(client, removal.target);
    if (!isTemporary(found) || found.metadata.name !== removal.target.resourceName) {
      const message = `${removal.target.resourceName} does not have the label ${LABEL_TEMPORARY} and is not deleted`;
      throw new ArgoCdFailure("refused", message);
    }
    if (removal.only !== undefined && !removal.only(found)) return "kept";
  } catch (error) {
    if (isAbsent(error)) return "absent";
    throw error;
  }
  try {
    await deleteTemporary(client, removal.target);
  } catch (error) {
    if (!(error instanceof ArgoCdFailure && error.reason === "not-found")) throw error;
  }
  return "gone";
}

/** Requires both the name and the label: a real Application may have one of them by mistake. */
export function isTemporary(application: Pick<WholeApplication, "metadata">): boolean {
  const { name, labels } = application.metadata;
  return name.startsWith(TEMPORARY_NAME_PREFIX) && labels[LABEL_TEMPORARY] === "true";
}
