import type { Application, ApplicationSpec } from "../../core/model/application.js";
import { specEqual } from "../../core/model/spec-equality.js";
import type { Clock } from "../../core/ports/clock.js";
import { getApplication, putSpec } from "./application-calls.js";
import { ArgoCdFailure } from "./argocd-failure.js";
import type { Client } from "./client.js";

const LOOKS = 3;
const PAUSE_MS = 1000;

/**
 * Replaces the live spec, sent once under the project the application has now. When no answer comes, the live object
 * tells whether it happened.
 */
export async function updateSpec(
  parts: { readonly client: Client; readonly clock: Clock },
  application: Application,
  spec: ApplicationSpec,
): Promise<void> {
  try {
    await putSpec(parts.client, application, spec);
  } catch (error) {
    if (!(error instanceof ArgoCdFailure) || !error.maybeDone) throw error;
    for (let looks = 0; looks < LOOKS; looks += 1) {
      await parts.clock.sleep(PAUSE_MS);
      // Without the project: the new spec may have changed it.
      const found = await getApplication(parts.client, { ...application, project: undefined }).catch(() => undefined);
      if (found !== undefined && specEqual(found.spec, spec)) return;
    }
    const message = `it is not known whether the definition of ${application.name} was changed (${error.message})`;
    throw new ArgoCdFailure(error.reason, message, { maybeDone: true, cause: error });
  }
}
