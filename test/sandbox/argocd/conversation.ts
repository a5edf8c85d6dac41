import { isObject, objectAt, type Json, type JsonObject } from "../../../sandbox/argocd/json.js";
import type { PresentedApplication } from "../../../sandbox/argocd/schemas/endpoints.js";
import { repositoryUrl, startRecordedWorld, type Answer, type RecordedWorld } from "./recorded-world.js";

export interface CallOptions {
  readonly who?: "svc" | "readonly" | "nobody" | "proj" | null;
  readonly body?: Json;
}

/** The recorded repository with a fresh Argo CD, and short words for talking to it. `{head}` in a path is that commit. */
export interface Conversation extends RecordedWorld {
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** The answer's body, which must have come with status 200. */
  ok(method: string, path: string, body?: Json): Promise<JsonObject>;
  /** Adds an application that reads `path`. */
  add(name: string, path: string, more?: { metadata?: JsonObject; spec?: JsonObject; source?: JsonObject }): void;
  /** Rendered manifests, parsed. */
  manifests(name: string, query?: string): Promise<JsonObject[]>;
  /** Syncs and follows the operation to its end. */
  sync(name: string, body?: JsonObject): Promise<PresentedApplication>;
  /** Reads until no operation runs. */
  finished(name: string): Promise<PresentedApplication>;
}

export async function startConversation(): Promise<Conversation> {
  const world = await startRecordedWorld();
  const call: Conversation["call"] = (method, path, { who = "svc", body } = {}) =>
    world.send({ method, path, who, body, contentType: method === "GET" ? undefined : "application/json" });
  const ok: Conversation["ok"] = async (method, path, body) => {
    const { status, answer } = await call(method, path, { body });
    if (status !== 200 || !isObject(answer)) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return answer;
  };
  const finished: Conversation["finished"] = async (name) => {
    for (let poll = 0; poll < 20; poll += 1) {
      const application = (await ok("GET", `/api/v1/applications/${name}`)) as PresentedApplication;
      if (application.operation === undefined) return application;
    }
    throw new Error(`The operation of ${name} does not end`);
  };
  return {
    ...world,
    call,
    ok,
    finished,
    add(name, path, { metadata = {}, spec = {}, source = {} } = {}) {
      world.argocd.addApplication({
        metadata: { name, ...metadata },
        spec: {
          project: "default",
          destination: { server: "https://kubernetes.default.svc", namespace: "guestbook" },
          ...("sources" in spec ? {} : { source: { repoURL: repositoryUrl, targetRevision: "main", path, ...source } }),
          ...spec,
        },
      });
    },
    async manifests(name, query = "") {
      const answer = await ok("GET", `/api/v1/applications/${name}/manifests${query}`);
      return ((answer.manifests ?? []) as string[]).map((text) => JSON.parse(text) as JsonObject);
    },
    async sync(name, body = {}) {
      await ok("POST", `/api/v1/applications/${name}/sync`, body);
      return finished(name);
    },
  };
}

/** A multi-source application as the contract's example: a chart, its values, and a folder. */
export const multiSources: Json[] = [
  {
    repoURL: repositoryUrl,
    targetRevision: "main",
    path: "charts/web",
    helm: { valueFiles: ["$values/envs/prod/web.yaml"] },
  },
  { repoURL: repositoryUrl, targetRevision: "main", ref: "values" },
  { repoURL: repositoryUrl, targetRevision: "main", path: "extra" },
];

export function refusal(status: number, code: number, message: string): Answer {
  return { status, answer: { error: message, code, message } };
}

export function named(manifests: readonly JsonObject[], name: string): JsonObject {
  const found = manifests.find((manifest) => objectAt(manifest, "metadata").name === name);
  if (found === undefined) throw new Error(`No manifest is called ${name}`);
  return found;
}
