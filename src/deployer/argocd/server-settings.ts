import { createHash } from "node:crypto";
import * as z from "zod";
import { canonicalJson, isJsonObject } from "../../core/model/json.js";
import type { Clock } from "../../core/ports/clock.js";
import { parseAnswer } from "./argocd-failure.js";
import type { Client } from "./client.js";

/** Argo CD's own settings that affect names and rendered manifests. */
export interface ServerSettings {
  /** The namespace that Argo CD runs in; applications there are called by their bare name. */
  readonly controllerNamespace: string;
  /** Key of the instance label. */
  readonly labelKey: string;
  /** How Argo CD marks the resources of an application; empty if an old version does not report it. */
  readonly tracking: "annotation" | "label" | "annotation+label" | "";
  /** Digest of the whole answer: other members (Kustomize's options and versions, plugins) affect rendered manifests too. */
  readonly digest: string;
}

const REFRESH_MS = 5 * 60_000;
const DEFAULT_NAMESPACE = "argocd";

const settingsAnswer = z.object({
  appLabelKey: z.string().nullish(),
  trackingMethod: z.enum(["annotation", "label", "annotation+label", ""]).nullish().catch(""),
  controllerNamespace: z.string().nullish(),
});

/**
 * Argo CD's settings, requested at most every five minutes. While Argo CD is unavailable the last answer stays in use. The
 * namespace is kept for good: locks have names that depend on it, and Argo CD reports it only to a valid token.
 */
export function createServerSettings(client: Client, clock: Clock): () => Promise<ServerSettings> {
  let known: { readonly at: number; readonly settings: ServerSettings } | undefined;
  let namespace: string | undefined;

  let running: Promise<ServerSettings> | undefined;

  async function ask(): Promise<ServerSettings> {
    const answer = await client.call({ method: "GET", path: ["api", "v1", "settings"], permission: "settings, get" });
    const read = parseAnswer(settingsAnswer, answer, "its settings");
    if (read.controllerNamespace) namespace = read.controllerNamespace;
    const settings: ServerSettings = {
      controllerNamespace: namespace ?? DEFAULT_NAMESPACE,
      labelKey: read.appLabelKey ?? "app.kubernetes.io/instance",
      tracking: read.trackingMethod ?? "",
      digest: createHash("sha256")
        .update(canonicalJson(isJsonObject(answer) ? answer : {}))
        .digest("hex"),
    };
    known = { at: clock.now().getTime(), settings };
    return settings;
  }

  return async function serverSettings() {
    if (known !== undefined && clock.now().getTime() - known.at < REFRESH_MS) return known.settings;
    // Concurrent callers share one request.
    running ??= ask().finally(() => (running = undefined));
    try {
      return await running;
    } catch (error) {
      if (known === undefined) throw error;
      return known.settings;
    }
  };
}
