import * as z from "zod";
import type { Application, ApplicationSet, SetId } from "../../core/model/application.js";
import type { ApplicationName } from "../../core/model/brand.js";
import { changeRequestKey } from "../../core/model/change-request.js";
import { isJsonObject, readJsonText } from "../../core/model/json.js";
import type { Task } from "../../core/ports/compute.js";
import type { Deployer } from "../../core/ports/deployer.js";
import type { Log } from "../../core/ports/log.js";
import {
  applicationItem,
  getItems,
  json,
  metadata,
  nameOfResource,
  ownNamespace,
  parentOf,
  type Parts,
  requireExactKeys,
  type ServerSettings,
  toApplication,
} from "./application-api.js";
import { keep } from "./applications.js";
import { ArgoCdFailure, ifVisible, parseAnswer, type Read, readAnswer, reading, readLarge } from "./argocd-failure.js";
import type { Call, Client } from "./client.js";
import { isTemporary } from "./temporary-application.js";

const generatedList = z.object({ applications: z.array(applicationItem).nullish() });

const SETS = ["api", "v1", "applicationsets"] as const;

const wholeSet = z.object({ metadata: json, spec: json });
const setList = z.object({ items: z.array(z.unknown()).nullish() });
const setItem = z.object({ metadata, spec: json });

export function createApplicationSets({
  config,
  client,
  clock,
  compute,
  log,
  serverSettings,
}: Parts): Pick<Deployer, "listApplicationSets" | "findApplicationSet" | "applicationsOfSet" | "expandApplicationSet"> {
  // Git generators make Argo CD fetch the repository, as a render does.
  const timeoutMs = config.renderTimeoutMs;
  const kept = keep(async () => listApplicationSets(client, await serverSettings(), log), clock);
  return {
    listApplicationSets: (signal, since) => kept.get(signal, since),

    async findApplicationSet(set, signal) {
      const namespace = ownNamespace(set.namespace, (await serverSettings()).controllerNamespace);
      const answer = await ifVisible(
        client.call({
          method: "GET",
          path: [...SETS, set.name],
          query: namespace === undefined ? {} : { appsetNamespace: namespace },
          permission: "applicationsets, get",
          signal,
        }),
      );
      if (answer === undefined) return undefined;
      const resource = parseAnswer(wholeSet, answer, `the ApplicationSet ${set.name}`);
      return { name: set.name, namespace, resource };
    },

    async applicationsOfSet(set, signal) {
      return applicationsOfSet(client, await serverSettings(), set, { timeoutMs, signal });
    },

    async expandApplicationSet(set, change, signal) {
      const settings = await serverSettings();
      const answer = await generate(client, set, { timeoutMs, signal });
      const { name, namespace } = set;
      const limits = { owner: changeRequestKey(change), signal, what: `what the ApplicationSet ${name} generates` };
      const input = { answer, set: { name, namespace }, settings };
      return readJsonText(await readLarge(compute, readGeneratedTask, input, limits));
    },
  };
}

/** Every ApplicationSet on which the token has `applicationsets, get`, in all namespaces. Argo CD silently omits the others. */
async function listApplicationSets(
  client: Client,
  settings: ServerSettings,
  log: Log,
): Promise<readonly ApplicationSet[]> {
  const answer = await client.call({ method: "GET", path: SETS, permission: "applicationsets, get" });
  const { items } = parseAnswer(setList, answer, "the list of ApplicationSets");
  return (items ?? []).flatMap((item) => {
    const parsed = setItem.safeParse(item);
    if (!parsed.success) {
      log.warn({ problem: parsed.error.message }, "skipped an unreadable ApplicationSet");
      return [];
    }
    const { spec, metadata } = parsed.data;
    const { name, namespace } = metadata;
    // The rest of the metadata is not used, and as large as everything else.
    const resource = { metadata: { name, ...(namespace ? { namespace } : {}) }, spec };
    const parent = parentOf(parsed.data, settings, "ApplicationSet");
    return [{ name, namespace: ownNamespace(namespace, settings.controllerNamespace), resource, parent }];
  });
}

/**
 * The applications that name the set as their owner. `fields` cannot select owners, and the set's own list of resources
 * needs a permission that deployment tokens rarely have, so this reads whole Applications (7 KB each on Argo CD v3.5.1).
 */
async function applicationsOfSet(
  client: Client,
  settings: ServerSettings,
  set: SetId,
  options: Pick<Call, "timeoutMs" | "signal">,
): Promise<readonly ApplicationName[]> {
  const { controllerNamespace } = settings;
  const items = await getItems(client, "the list of applications", options);
  const namespace = ownNamespace(set.namespace, controllerNamespace);
  return items
    .flatMap((item) => {
      const parsed = applicationItem.safeParse(item);
      if (!parsed.success || isTemporary(parsed.data)) return [];
      const { metadata } = parsed.data;
      // An owner is always in the namespace of the owned object.
      const owned =
        ownNamespace(metadata.namespace, controllerNamespace) === namespace &&
        metadata.ownerReferences?.some(({ kind, name }) => kind === "ApplicationSet" && name === set.name) === true;
      return owned ? [nameOfResource(metadata.namespace ?? undefined, metadata.name, controllerNamespace)] : [];
    })
    .sort();
}

interface GeneratedAnswer {
  readonly answer: string;
  readonly set: SetId;
  readonly settings: ServerSettings;
}

/** Reads what a set generates. A few lines of a set may yield more applications than fit in memory. */
export const readGeneratedTask: Task<GeneratedAnswer, Read<readonly Application[]>> = {
  name: "read-generated",
  run: ({ answer, set, settings }) =>
    reading(() => {
      const { applications } = parseAnswer(generatedList, readAnswer(answer), `the ApplicationSet ${set.name}`);
      const count = applications?.length ?? 0;
      if (count > MAX_GENERATED) {
        const message = `it generates ${count} applications, and svc reads at most ${MAX_GENERATED}: check what its generators yield`;
        throw new ArgoCdFailure("failed", message);
      }
      return (applications ?? []).map((item) => {
        const namespace = item.metadata.namespace ?? set.namespace;
        return toApplication({ ...item, metadata: { ...item.metadata, namespace } }, settings);
      });
    }),
};

const MAX_GENERATED = 20_000;

/** Begins the answer if the set itself fails. What only the repo-server could not do has its own words. */
const UNGENERATED = /^unable to generate Applications of ApplicationSet: (?:error generating applications: )?/;

/** Requests what a set would generate. It renders and writes nothing, but Argo CD requires the permission to create the set. */
async function generate(client: Client, set: ApplicationSet, options: Pick<Call, "timeoutMs" | "signal">) {
  const metadata = isJsonObject(set.resource.metadata) ? set.resource.metadata : { name: set.name };
  requireExactKeys({ spec: set.resource.spec });
  try {
    return await client.text({
      method: "POST",
      path: [...SETS, "generate"],
      body: { applicationSet: { metadata, spec: set.resource.spec } },
      permission: "applicationsets, create",
      repeatable: true,
      ...options,
    });
  } catch (error) {
    if (!(error instanceof ArgoCdFailure)) throw error;
    // After the first line come lines of the server's own log.
    const [line = ""] = error.message.split("\n", 1);
    if (UNGENERATED.test(line)) {
      throw new ArgoCdFailure("ungenerated", line.replace(UNGENERATED, ""), { code: error.code, cause: error });
    }
    // A generator did not find a repository or a file.
    const reason = error.reason === "not-found" ? "failed" : error.reason;
    throw new ArgoCdFailure(reason, line, { code: error.code, cause: error });
  }
}
