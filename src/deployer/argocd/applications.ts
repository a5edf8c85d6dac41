import type { Application, LiveApplication } from "../../core/model/application.js";
import type { ApplicationName } from "../../core/model/brand.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import { getApplication, getItems } from "./application-calls.js";
import { parseName } from "./application-names.js";
import { applicationItem, type WholeApplication } from "./application-schema.js";
import { isAbsent } from "./argocd-failure.js";
import type { Client } from "./client.js";
import { keep } from "./kept.js";
import { isTemporary } from "./remove-temporary.js";
import { createSemaphore } from "./semaphore.js";
import type { ServerSettings } from "./server-settings.js";
import { toApplication, toLiveApplication } from "./to-application.js";

/** Reduces the answer to a fifteenth. Old versions select `spec` only as a whole; Argo CD silently ignores unknown names. */
export const LIST_FIELDS = ["name", "namespace", "labels", "annotations", "deletionTimestamp"]
  .map((member) => `items.metadata.${member}`)
  .concat("items.spec")
  .join(",");

/** Concurrent reads of single applications. The limit is here because a time-out starts when the request is sent. */
const MAX_READS = 16;

interface Parts {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly serverSettings: () => Promise<ServerSettings>;
}

/** Reads applications: the list is cached for some seconds, single applications are always fresh. */
export interface Applications {
  list(signal?: AbortSignal, since?: Date): Promise<readonly Application[]>;
  find(name: ApplicationName, signal?: AbortSignal): Promise<LiveApplication | undefined>;
  /** Drops the cached list. */
  forget(): void;
}

export function createApplications({ client, clock, log, serverSettings }: Parts): Applications {
  const projects = new Map<ApplicationName, string>();
  const reads = createSemaphore(MAX_READS);
  const kept = keep(read, clock);

  async function read(): Promise<readonly Application[]> {
    const settings = await serverSettings();
    const items = await getItems(client, "the list of applications", { query: { fields: LIST_FIELDS } });
    const list = items.flatMap((item) => {
      const parsed = applicationItem.safeParse(item);
      if (!parsed.success) log.warn({ problem: parsed.error.message }, "skipped an unreadable application");
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
    // The application may have moved to another project, so a refusal under the known one is not final.
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
