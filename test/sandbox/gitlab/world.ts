import type { IncomingHttpHeaders } from "node:http";
import { Gitlab } from "@gitbeaker/rest";
import { GitStore } from "../../../sandbox/git/git-store.js";
import type { GitLabForge } from "../../../sandbox/gitlab/gitlab-forge.js";
import { startGitLab } from "../../../sandbox/gitlab/gitlab.js";
import type { InstanceOptions } from "../../../sandbox/gitlab/model/instance.js";
import { listenOnLoopback } from "../../../sandbox/loopback.js";

export const repository = "acme/platform/gitops";
export const token = "glpat-sandbox-token";
export const secret = "webhook-secret";
export const signingToken = "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

export interface World {
  readonly forge: GitLabForge;
  readonly store: GitStore;
  readonly client: Gitlab;
  /** Webhooks that arrived, newest last. */
  readonly received: Received[];
  /** One request without a client library. */
  call(method: string, path: string, options?: { body?: unknown; headers?: Record<string, string> }): Promise<Answer>;
  stop(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** A GitLab with one project, a client of it, and a receiver of its webhooks. */
export async function startWorld(options: Partial<InstanceOptions> = {}): Promise<World> {
  const store = await GitStore.create();
  const forge = await startGitLab({ store, token, ...options });
  const received: Received[] = [];
  const server = await listenOnLoopback((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      received.push({ headers: request.headers, text, body: JSON.parse(text) as Record<string, unknown> });
      response.end("accepted");
    });
  });
  forge.connect({ url: server.url, secret, signingToken });
  await forge.createRepository(repository, {
    "apps/web.yaml": "replicas: 1\n",
    "apps/api.yaml": "replicas: 1\n",
  });
  for (const login of ["ana", "bo", "cy"]) forge.setAccess(repository, login, "write");
  return {
    forge,
    store,
    client: new Gitlab({ host: forge.url, token }),
    received,
    async call(method, path, { body, headers = {} } = {}) {
      const answer = await fetch(`${forge.url}${path}`, {
        method,
        headers: {
          "private-token": token,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        body: body === undefined ? null : JSON.stringify(body),
      });
      const text = await answer.text();
      return { status: answer.status, body: text === "" ? undefined : (JSON.parse(text) as unknown) };
    },
    async stop() {
      await forge.stop();
      await server.stop();
      await store.remove();
    },
  };
}

/** Path of the project in the API. */
export const projectPath = `/api/v4/projects/${encodeURIComponent(repository)}`;

/** Status of gitbeaker's refusal, or undefined when there was none. */
export async function refusal(call: Promise<unknown>): Promise<{ status: number; text: string } | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    const { cause } = error as { cause?: { response?: Response; description?: string } };
    return { status: cause?.response?.status ?? 0, text: cause?.description ?? String(error) };
  }
}
