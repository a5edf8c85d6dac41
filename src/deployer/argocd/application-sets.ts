import { z } from "zod";
import type { ApplicationSet, SetId } from "../../core/model/application.js";
import type { ApplicationName } from "../../core/model/brand.js";
import type { Log } from "../../core/ports/log.js";
import { nameOfResource, ownNamespace } from "./application-names.js";
import { applicationItem, applicationList, json } from "./application-schema.js";
import { isAbsent } from "./argocd-failure.js";
import type { Client } from "./client.js";
import { parseAnswer } from "./parse-answer.js";
import { isTemporary } from "./remove-temporary.js";
import type { ServerSettings } from "./server-settings.js";

const wholeSet = z.object({ metadata: json, spec: json });
const setList = z.object({ items: z.array(z.unknown()).nullish() });
const setItem = z.object({ metadata: z.object({ name: z.string(), namespace: z.string().nullish() }), spec: json });

/** Every ApplicationSet on which the token has `applicationsets, get`, in all namespaces: Argo CD leaves the others out in silence. */
export async function listApplicationSets(
  client: Client,
  settings: ServerSettings,
  log: Log,
): Promise<readonly ApplicationSet[]> {
  const path = ["api", "v1", "applicationsets"];
  const answer = await client.call({ method: "GET", path, permission: "applicationsets, get" });
  const { items } = parseAnswer(setList, answer, "the list of ApplicationSets");
  return (items ?? []).flatMap((item) => {
    const parsed = setItem.safeParse(item);
    if (!parsed.success) {
      log.warn({ problem: parsed.error.message }, "left out an ApplicationSet that cannot be read");
      return [];
    }
    const { spec, metadata } = parsed.data;
    const { name, namespace } = metadata;
    // What else Argo CD and Kubernetes note in the metadata is as large as the rest, and decides nothing.
    const resource = { metadata: { name, ...(namespace ? { namespace } : {}) }, spec };
    return [{ name, namespace: ownNamespace(namespace, settings.controllerNamespace), resource }];
  });
}

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
