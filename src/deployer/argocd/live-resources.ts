import { z } from "zod";
import type { LiveApplication, Manifest } from "../../core/model/application.js";
import { isJsonObject } from "../../core/model/json.js";
import type { LiveResource, LiveState } from "../../core/model/live-state.js";
import type { Log } from "../../core/ports/log.js";
import { getManagedResources, refreshApplication } from "./application-calls.js";
import { ArgoCdFailure } from "./argocd-failure.js";
import type { Client } from "./client.js";
import type { ArgoCdConfig } from "./config.js";
import { parseAnswer } from "./parse-answer.js";
import { createSemaphore } from "./semaphore.js";

/** How long Argo CD may take to compare an application anew: the call answers when its controller has come by. */
const REFRESH_MS = 60_000;
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? "");

const answerSchema = z.object({
  items: z
    .array(
      z.object({
        group: text,
        kind: text,
        namespace: text,
        name: text,
        liveState: text,
        normalizedLiveState: text,
        hook: z.boolean().nullish(),
      }),
    )
    .nullish(),
});
type Item = NonNullable<z.infer<typeof answerSchema>["items"]>[number];

export type LiveResources = (application: LiveApplication, signal?: AbortSignal) => Promise<LiveState>;

/**
 * What the cluster has of an application: two calls, as many applications at a time as renders. Argo CD answers from the
 * controller's last comparison, so that one is asked for first; the controller writes an annotation for it. When it does
 * not come in time, or the token may not ask, the last comparison is used and called stale.
 */
export function createLiveResources(config: ArgoCdConfig, parts: { client: Client; log: Log }): LiveResources {
  const { client, log } = parts;
  const semaphore = createSemaphore(config.renderConcurrency);

  async function refresh(application: LiveApplication, signal: AbortSignal | undefined): Promise<string | undefined> {
    try {
      await refreshApplication(client, application, REFRESH_MS, signal);
      return undefined;
    } catch (error) {
      if (!(error instanceof ArgoCdFailure)) throw error;
      log.warn({ application: application.name, err: error }, "Argo CD did not compare an application anew");
      return "Argo CD did not compare the application anew, so the live state may be old";
    }
  }

  return (application, signal) =>
    semaphore.run(async () => {
      const stale = await refresh(application, signal);
      // The cache may be gone; then this call makes Argo CD compare, too.
      const answer = await getManagedResources(client, application, REFRESH_MS, signal);
      const { items } = parseAnswer(answerSchema, answer, `the live resources of ${application.name}`);
      return { resources: (items ?? []).map(toResource), stale };
    }, signal);
}

function toResource(item: Item): LiveResource {
  const { group, kind, namespace, name } = item;
  const [raw, normalized] = [readState(item.liveState), readState(item.normalizedLiveState)];
  // An answer without the normalised state, of whatever version, must not read as "not in the cluster".
  const live = normalized ?? raw;
  return { group, kind, namespace, name, live, lastApplied: lastAppliedOf(raw), hook: item.hook === true };
}

/**
 * `null` stands for "not there".
 * @throws {ArgoCdFailure} for anything else that is no object: leaving it out would hide a change.
 */
function readState(state: string): Manifest | undefined {
  if (state === "") return undefined;
  const value = parseJson(state);
  if (value === null) return undefined;
  if (!isJsonObject(value)) throw new ArgoCdFailure("failed", "Argo CD told of a live object that is no object");
  return value;
}

function parseJson(state: string): unknown {
  try {
    return JSON.parse(state);
  } catch (error) {
    throw new ArgoCdFailure("failed", "Argo CD told of a live object that is no JSON", { cause: error });
  }
}

/** Anybody may write the annotation, so that one that cannot be read is as good as none. */
function lastAppliedOf(live: Manifest | undefined): Manifest | undefined {
  const metadata = live?.metadata;
  const annotations = isJsonObject(metadata) ? metadata.annotations : undefined;
  const note = isJsonObject(annotations) ? annotations[LAST_APPLIED] : undefined;
  if (typeof note !== "string") return undefined;
  try {
    const value: unknown = JSON.parse(note);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
