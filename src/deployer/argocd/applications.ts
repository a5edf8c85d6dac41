import type { Application, LiveApplication } from "../../core/model/application.js";
import type { ApplicationName } from "../../core/model/brand.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import { getApplication } from "./application-calls.js";
import { parseName } from "./application-names.js";
import { applicationItem, applicationList } from "./application-schema.js";
import type { WholeApplication } from "./application-schema.js";
import { isAbsent } from "./argocd-failure.js";
import type { Client } from "./client.js";
import { keep } from "./kept.js";
import { parseAnswer } from "./parse-answer.js";
import { isTemporary } from "./remove-temporary.js";
import { createSemaphore } from "./semaphore.js";
import type { ServerSettings } from "./server-settings.js";
import { toApplication, toLiveApplication } from "./to-application.js";

/** A fifteenth of the whole objects. Old versions know `spec` only as a whole; unknown names are left out in silence. */
export const LIST_FIELDS = ["name", "namespace", "labels", "annotations", "deletionTimestamp"]
  .map((member) => `items.metadata.${member}`)
  .concat("items.spec")
  .join(",");

/** Reads of single applications at a time: their time-outs run from when they are sent, not from when they are asked for. */
const MAX_READS = 16;

interface Parts {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly serverSettings: () => Promise<ServerSettings>;
}

/** Reading of applications: the list, kept for some seconds, and single ones, always fresh. */
export interface Applications {
  list(signal?: AbortSignal): Promise<readonly Application[]>;
  find(name: ApplicationName, signal?: AbortSignal): Promise<LiveApplication | undefined>;
  /** The next list is read anew. */
  forget(): void;
}

export function createApplications({ client, clock, log, serverSettings }: Parts): Applications {
  const projects = new Map<ApplicationName, string>();
  const reads = createSemaphore(MAX_READS);
  const kept = keep(read, clock);

  async function read(): Promise<readonly Application[]> {
    const settings = await serverSettings();
    const path = ["api", "v1", "applications"];
    const query = { fields: LIST_FIELDS };
    const answer = await client.call({ method: "GET", path, query, permission: "applications, get" });
    const { items } = parseAnswer(applicationList, answer, "the list of applications");
    const list = (items ?? []).flatMap((item) => {
      const parsed = applicationItem.safeParse(item);
      if (!parsed.success) log.warn({ problem: parsed.error.message }, "left out an application that cannot be read");
      return parsed.success && !isTemporary(parsed.data) ? [toApplication(parsed.data, settings)] : [];
    });
    for (const application of list) projects.set(application.name, application.project);
    return list;
  }

  async function find(name: ApplicationName, signal?: AbortSignal): Promise<LiveApplication | undefined> {
    const settings = await serverSettings();
    const resource = parseName(name, settings.controllerNamespace);
    if (resource === undefined) return undefined;
    const known = projects.get(name);
    const look = (project: string | undefined) => getIfVisible({ ...resource, project }, signal);
    // An application can move to another project, so that a refusal under the old one is no answer yet.
    const found = (known === undefined ? undefined : await look(known)) ?? (await look(undefined));
    if (found === undefined || isTemporary(found)) return undefined;
    const live = toLiveApplication(found, settings);
    projects.set(name, live.project);
    return live;
  }

  async function getIfVisible(
    target: Parameters<typeof getApplication>[1],
    signal: AbortSignal | undefined,
  ): Promise<WholeApplication | undefined> {
    try {
      return await reads.run(() => getApplication(client, target, signal), signal);
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  return { list: kept.get, find, forget: kept.forget };
}
