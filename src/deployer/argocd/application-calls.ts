import { type Json, type JsonObject, misspelledMember } from "../../core/model/json.js";
import { TEMPORARY_NAME_PREFIX } from "../../names.js";
import {
  applicationList,
  resourceTree,
  wholeApplication,
  type ResourceNode,
  type WholeApplication,
} from "./application-schema.js";
import { ArgoCdFailure, parseAnswer } from "./argocd-failure.js";
import type { Call, Client, Query } from "./client.js";

/** Identifies one Application. Without the project, Argo CD answers the same for an absent and a forbidden one. */
export interface Target {
  readonly resourceName: string;
  readonly namespace: string | undefined;
  readonly project: string | undefined;
}

const ROOT = ["api", "v1", "applications"] as const;

type ReadOptions = Pick<Call, "query" | "timeoutMs" | "signal">;

function reading(segments: readonly string[], options: ReadOptions): Call {
  return { method: "GET", path: [...ROOT, ...segments], permission: "applications, get", ...options };
}

function read(client: Client, segments: readonly string[], options: ReadOptions): Promise<unknown> {
  return client.call(reading(segments, options));
}

/** The items of the list of applications, each unread. @param what Completes "Argo CD's answer about". */
export async function getItems(client: Client, what: string, options: ReadOptions): Promise<readonly unknown[]> {
  return parseAnswer(applicationList, await read(client, [], options), what).items ?? [];
}

export async function getApplication(client: Client, target: Target, signal?: AbortSignal): Promise<WholeApplication> {
  const answer = await read(client, [target.resourceName], { query: identity(target), signal });
  return parseAnswer(wholeApplication, answer, `the application ${target.resourceName}`);
}

/** The answer unread. */
export function getManifests(
  client: Client,
  target: Target,
  query: Pick<Query, "revision" | "revisions" | "sourcePositions" | "noCache">,
  limits: Omit<ReadOptions, "query">,
): Promise<string> {
  const options = { query: { ...identity(target), ...query }, ...limits };
  return client.text(reading([target.resourceName, "manifests"], options));
}

/** Asks for a refresh, which Argo CD notes in an annotation; resolves when the controller has compared the application. */
export async function refreshApplication(client: Client, target: Target, limits: Omit<ReadOptions, "query">) {
  await read(client, [target.resourceName], { query: { ...identity(target), refresh: "normal" }, ...limits });
}

/** Read from Argo CD's cache. */
export async function getResourceTree(client: Client, target: Target): Promise<readonly ResourceNode[]> {
  const answer = await read(client, [target.resourceName, "resource-tree"], { query: identity(target) });
  return parseAnswer(resourceTree, answer, `the objects of ${target.resourceName}`).nodes ?? [];
}

/** The answer unread. */
export function getManagedResources(client: Client, target: Target, limits: Omit<ReadOptions, "query">) {
  return client.text(reading([target.resourceName, "managed-resources"], { query: identity(target), ...limits }));
}

/**
 * Refuses what Argo CD would read in another way than svc, which decides by exact keys: `Project` beside `project`.
 * @throws {ArgoCdFailure} before a request is made.
 */
export function requireExactKeys(definition: Json): void {
  const found = misspelledMember(definition);
  if (found === undefined) return;
  const key = JSON.stringify(found.key.slice(0, LONGEST_KEY));
  throw new ArgoCdFailure("refused", `the definition has the key ${key}, which Argo CD reads as ${found.member}`);
}

const LONGEST_KEY = 60;

/** Skips validation, which would render a second time, at a revision that may not have the new paths yet. */
export async function postApplication(client: Client, application: JsonObject): Promise<unknown> {
  requireExactKeys(application);
  const query = { validate: false } as const;
  return client.call({ method: "POST", path: ROOT, query, body: application, permission: "applications, create" });
}

export async function putSpec(client: Client, target: Target, spec: JsonObject): Promise<unknown> {
  requireExactKeys(spec);
  return client.call({
    method: "PUT",
    path: [...ROOT, target.resourceName, "spec"],
    query: { validate: false, ...identity(target) },
    body: spec,
    permission: "applications, update",
  });
}

/** Argo CD reads all parameters of this call from the body, including the project and the namespace. */
export function postSync(
  client: Client,
  target: Target,
  body: Readonly<Record<string, Json | undefined>>,
): Promise<unknown> {
  return client.call({
    method: "POST",
    path: [...ROOT, target.resourceName, "sync"],
    body: { ...body, ...identity(target) },
    permission: "applications, get",
  });
}

/**
 * The only deletion in svc: a temporary Application, without the resources that it seems to own (`cascade` defaults to true).
 * @throws {ArgoCdFailure} for any other name, before a request is made.
 */
export async function deleteTemporary(client: Client, target: Target): Promise<void> {
  if (!target.resourceName.startsWith(TEMPORARY_NAME_PREFIX)) {
    throw new ArgoCdFailure("refused", `${target.resourceName} is not a temporary Application and is not deleted`);
  }
  await client.call({
    method: "DELETE",
    path: [...ROOT, target.resourceName],
    query: { cascade: false, ...identity(target) },
    permission: "applications, delete",
  });
}

function identity(target: Target): { readonly project?: string; readonly appNamespace?: string } {
  return {
    ...(target.project === undefined ? {} : { project: target.project }),
    ...(target.namespace === undefined ? {} : { appNamespace: target.namespace }),
  };
}
