import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import { ANNOTATION_EXPIRES, LABEL_TEMPORARY } from "../../names.js";
import { applicationItem, applicationList } from "./application-schema.js";
import type { ApplicationItem } from "./application-schema.js";
import { LIST_FIELDS } from "./applications.js";
import type { Client } from "./client.js";
import { parseAnswer } from "./parse-answer.js";
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
 * Deletes temporary Applications that a killed run left behind. Only expired ones: another replica may be using the others.
 * One that cannot be deleted is logged and does not keep the rest.
 * @returns how many were deleted.
 */
export async function sweep(parts: Parts, now: Date): Promise<number> {
  const { client, clock, log, settings } = parts;
  const query = { selector: `${LABEL_TEMPORARY}=true`, fields: LIST_FIELDS };
  const path = ["api", "v1", "applications"];
  const answer = await client.call({ method: "GET", path, query, permission: "applications, get" });
  const { items } = parseAnswer(applicationList, answer, "temporary Applications");
  const isLeftOver = (item: ApplicationItem) => isTemporary(item) && isExpired(item, now);
  let deleted = 0;
  for (const item of items ?? []) {
    const parsed = applicationItem.safeParse(item);
    if (!parsed.success || !isLeftOver(parsed.data)) continue;
    const target = toApplication(parsed.data, settings);
    try {
      // Its name may belong to a new run by now, with a new expiry: what counts is the object at the moment of deletion.
      if (await removeTemporary(client, clock, { target, created: false, only: isLeftOver })) deleted += 1;
    } catch (error) {
      log.warn({ application: target.resourceName, err: error }, "could not delete an expired temporary Application");
    }
  }
  return deleted;
}

/** Without a readable expiry it is not from this service's hand, and stays. */
function isExpired(item: ApplicationItem, now: Date): boolean {
  const expires = Date.parse(item.metadata.annotations[ANNOTATION_EXPIRES] ?? "");
  return expires <= now.getTime();
}
