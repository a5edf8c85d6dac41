import express from "express";
import { Probot, ProbotOctokit } from "probot";
import { GitStore } from "../../../sandbox/git/git-store.js";
import type { GitHubForge } from "../../../sandbox/github/github-forge.js";
import { startGitHub } from "../../../sandbox/github/start-github.js";
import { listenOnLoopback } from "../../../sandbox/loopback.js";
import { appKeys } from "../../../sandbox/world.js";

export const keys = appKeys();

/** What the tests look at in a webhook's body. */
export interface Body {
  readonly action: string;
  readonly number?: number;
  readonly before?: string;
  readonly after?: string;
  readonly changes?: unknown;
  readonly installation?: { readonly id: number };
  readonly organization?: { readonly login: string };
  readonly sender: { readonly login: string; readonly id: number; readonly type: string };
  readonly repository: { readonly full_name: string; readonly clone_url: string };
  readonly comment?: {
    readonly body: string;
    readonly user: { readonly login: string };
    readonly performed_via_github_app: unknown;
  };
  readonly issue?: { readonly number: number; readonly pull_request?: unknown };
  readonly review?: { readonly state: string; readonly commit_id: string };
  readonly label?: { readonly name: string };
  readonly pull_request?: {
    readonly draft: boolean;
    readonly merged?: boolean;
    readonly mergeable?: unknown;
    readonly merged_by?: { readonly login: string };
    readonly head: { readonly sha: string; readonly repo: { readonly full_name: string; readonly id: number } };
    readonly base: { readonly ref: string; readonly repo: { readonly id: number } };
  };
}

export interface Received {
  readonly event: string;
  readonly delivery: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly bytes: Buffer;
  readonly body: Body;
}

/** A GitHub with a receiver of webhooks and Probot's client for its App. */
export async function connected(): Promise<{
  store: GitStore;
  github: GitHubForge;
  received: Received[];
  probot: Probot;
  client: (repository: string) => Promise<InstanceType<typeof ProbotOctokit>>;
  stop: () => Promise<void>;
}> {
  const store = await GitStore.create();
  const github = await startGitHub({ store, app: { id: 4242, slug: "svc-app", publicKey: keys.publicKey } });
  const received: Received[] = [];
  const receiver = express();
  receiver.use(express.raw({ type: () => true, limit: "25mb" }), (request, response) => {
    const bytes = request.body as Buffer;
    received.push({
      event: String(request.headers["x-github-event"]),
      delivery: String(request.headers["x-github-delivery"]),
      headers: request.headers,
      bytes,
      body: JSON.parse(bytes.toString()) as Body,
    });
    response.json({ status: "accepted" });
  });
  const { url, stop } = await listenOnLoopback(receiver);
  github.connect({ url: `${url}/webhook/hosta`, secret: "s3cret" });
  const probot = new Probot({
    appId: 4242,
    privateKey: keys.privateKey,
    secret: "s3cret",
    baseUrl: github.apiUrl,
    logLevel: "fatal",
    Octokit: ProbotOctokit.defaults((options: object) => ({
      ...options,
      throttle: { enabled: false },
      retry: { enabled: false },
    })),
  });
  return {
    store,
    github,
    received,
    probot,
    client: async (repository) => {
      const [owner = "", repo = ""] = repository.split("/");
      const asApp = await probot.auth();
      const { data } = await asApp.rest.apps.getRepoInstallation({ owner, repo });
      return probot.auth(data.id);
    },
    stop: async () => {
      await github.stop();
      await stop();
      await store.remove();
    },
  };
}
