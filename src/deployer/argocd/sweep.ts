import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import { ANNOTATION_EXPIRES, LABEL_TEMPORARY } from "../../names.js";
import { getItems } from "./application-calls.js";
import { applicationItem, type ApplicationItem } from "./application-schema.js";
import { LIST_FIELDS } from "./applications.js";
import type { Client } from "./client.js";
import { isTemporary, removeTemporary } from "./remove-temporary.js";
import type { ServerSettings } from "./server-settings.js";
import { toApplication } from "./to-application.js";

interface Parts {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: ServerSettings;
}

/**
 * Deletes expired temporary Applications, which interrupted runs left behind; another replica may be using the others. Logs
 * each that it cannot delete, and continues.
 * @returns The number of deleted Applications.
 */
export async function sweep(parts: Parts, now: Date): Promise<number> {
  const { client, clock, log, settings } = parts;
  const query = { selector: `${LABEL_TEMPORARY}=true`, fields: LIST_FIELDS };
  const isLeftOver = (item: ApplicationItem) => isTemporary(item) && isExpired(item, now);
  let deleted = 0;
  for (const item of await getItems(client, "temporary Applications", { query })) {
    const parsed = applicationItem.safeParse(item);
    if (!parsed.success || !isLeftOver(parsed.data)) continue;
    const target = toApplication(parsed.data, settings);
    try {
      // A new run may have taken the name since, with a new expiry, so the present object decides.
      if (await removeTemporary(client, clock, { target, created: false, only: isLeftOver })) deleted += 1;
    } catch (error) {
      log.warn({ application: target.resourceName, err: error }, "could not delete an expired temporary Application");
    }
  }
  return deleted;
}

/** An Application without a readable expiry was not created by svc, and stays. */
function isExpired(item: ApplicationItem, now: Date): boolean {
  const expires = Date.parse(item.metadata.annotations[ANNOTATION_EXPIRES] ?? "");
  return expires <= now.getTime();
}
