import * as z from "zod";
import type { ApplicationName } from "../../core/model/brand.js";
import { getItems } from "./application-calls.js";
import { nameOfResource } from "./application-names.js";
import type { Call, Client } from "./client.js";
import type { ServerSettings } from "./server-settings.js";

/** Without the rest of the status, which is many times as large. */
const FIELDS = ["items.metadata.name", "items.metadata.namespace", "items.status.resources"].join(",");

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? "");
const item = z.object({
  metadata: z.object({ name: z.string().min(1), namespace: z.string().nullish() }),
  status: z
    .object({ resources: z.array(z.object({ group: text, kind: text, namespace: text, name: text })).nullish() })
    .nullish(),
});

/** Reads what Argo CD compared last of every application, in one call. An item that cannot be read owns nothing. */
export async function ownersOf(
  client: Client,
  { controllerNamespace }: ServerSettings,
  objects: ReadonlySet<string>,
  options: Pick<Call, "signal">,
): Promise<ReadonlyMap<string, readonly ApplicationName[]>> {
  const query = { fields: FIELDS };
  const items = await getItems(client, "the list of applications", { query, ...options });
  const found = new Map<string, ApplicationName[]>();
  for (const each of items) {
    const parsed = item.safeParse(each);
    if (!parsed.success) continue;
    const { metadata, status } = parsed.data;
    for (const { group, kind, namespace, name } of status?.resources ?? []) {
      const key = `${group}/${kind}/${namespace}/${name}`;
      if (!objects.has(key)) continue;
      const owner = nameOfResource(metadata.namespace ?? undefined, metadata.name, controllerNamespace);
      found.set(key, [...(found.get(key) ?? []), owner]);
    }
  }
  return found;
}
