import { z } from "zod";
import type { ApplicationSet } from "../../core/application.js";
import type { ApplicationName } from "../../core/brand.js";
import type { SetId } from "../../core/ports.js";
import { nameOfResource, ownNamespace } from "./application-names.js";
import { applicationItem, applicationList, json } from "./application-schema.js";
import { isAbsent } from "./argocd-failure.js";
import type { Client } from "./client.js";
import { parseAnswer } from "./parse-answer.js";
import { isTemporary } from "./remove-temporary.js";
import type { ServerSettings } from "./server-settings.js";

const wholeSet = z.object({ metadata: json, spec: json });

/** One ApplicationSet, read fresh; undefined when there is none or the token lacks `applicationsets, get` on it. */
export async function findApplicationSet(
  client: Client,
  settings: ServerSettings,
  set: SetId,
  signal: AbortSignal | undefined,
): Promise<ApplicationSet | undefined> {
  const namespace = ownNamespace(set.namespace, settings.controllerNamespace);
  try {
    const answer = await client.call({
      method: "GET",
      path: ["api", "v1", "applicationsets", set.name],
      query: namespace === undefined ? {} : { appsetNamespace: namespace },
      permission: "applicationsets, get",
      signal,
    });
    const resource = parseAnswer(wholeSet, answer, `the ApplicationSet ${set.name}`);
    return { name: set.name, namespace, resource };
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/**
 * The applications that name the set as their owner. `fields` knows no owners and the set's own list of resources needs
 * a permission that a token for deployments seldom has, so that the list is read whole (7 KB an application, seen on
 * Argo CD v3.5.1).
 */
export async function applicationsOfSet(
  client: Client,
  settings: ServerSettings,
  set: SetId,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
): Promise<readonly ApplicationName[]> {
  const { controllerNamespace } = settings;
  const path = ["api", "v1", "applications"];
  const answer = await client.call({ method: "GET", path, permission: "applications, get", ...options });
  const { items } = parseAnswer(applicationList, answer, "the list of applications");
  const namespace = ownNamespace(set.namespace, controllerNamespace);
  return (items ?? [])
    .flatMap((item) => {
      const parsed = applicationItem.safeParse(item);
      if (!parsed.success || isTemporary(parsed.data)) return [];
      const { metadata } = parsed.data;
      // An owner is always in the namespace of what it owns.
      const owned =
        ownNamespace(metadata.namespace, controllerNamespace) === namespace &&
        metadata.ownerReferences?.some(({ kind, name }) => kind === "ApplicationSet" && name === set.name) === true;
      return owned ? [nameOfResource(metadata.namespace ?? undefined, metadata.name, controllerNamespace)] : [];
    })
    .sort();
}
