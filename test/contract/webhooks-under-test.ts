import { createHmac, randomUUID } from "node:crypto";
import { Router } from "express";
import { GitStore } from "../../sandbox/git/git-store.js";
import type { GitHubForge } from "../../sandbox/github/github-forge.js";
import { startGitHub } from "../../sandbox/github/start-github.js";
import type { GitLabForge } from "../../sandbox/gitlab/gitlab-forge.js";
import { startGitLab } from "../../sandbox/gitlab/gitlab.js";
import { listenOnLoopback } from "../../sandbox/loopback.js";
import { appKeys, GITHUB_APP, GITLAB_TOKEN } from "../../sandbox/world.js";
import type { HostEvent } from "../../src/core/model/event.js";
import type { CodeHost } from "../../src/core/ports/code-host.js";
import { createGitHubHost } from "../../src/hosts/github/host.js";
import { githubWebhook } from "../../src/hosts/github/webhook.js";
import { createGitLabHost } from "../../src/hosts/gitlab/host.js";
import { gitlabWebhook } from "../../src/hosts/gitlab/webhook.js";
import { BodyBudget } from "../../src/hosts/receive-body.js";
import type { HostId } from "../../src/names.js";
import { createInProcessQueue } from "../../src/queue/in-process.js";
import { createWebServer } from "../../src/web/server.js";
import { commentOnPullRequest, example, OPENED } from "../hosts/github-samples.js";
import { sample } from "../hosts/gitlab-samples.js";
import { hostParts } from "../hosts/host-parts.js";
import { JumpClock } from "../jump-clock.js";
import { type LogLine, recordingLog } from "../recording-log.js";
import { keptLogger } from "../secrets-in-logs/kept-logger.js";

export const HOSTS: readonly HostId[] = ["hosta", "hostb"];
export const SECRET = "the-secret-of-the-webhooks";
export const REPOSITORY = "acme/deploy";

type HeaderChanges = Readonly<Record<string, string | undefined>>;

export interface WebhooksUnderTest {
  /** Root of the server. */
  readonly url: string;
  readonly forges: { readonly hosta: GitHubForge; readonly hostb: GitLabForge };
  readonly clients: Readonly<Record<HostId, CodeHost>>;
  /** What the queue ran, oldest first. */
  readonly events: HostEvent[];
  readonly lines: readonly LogLine[];
  /** What `/ready` finds. */
  ping: () => Promise<void>;
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/** Both webhook routes in the real web server, in front of a real queue, with both hosts in miniature connected. */
export async function startWebhooks(configured: readonly HostId[] = HOSTS): Promise<WebhooksUnderTest> {
  const clock = new JumpClock();
  const lines: LogLine[] = [];
  const log = recordingLog(lines);
  const events: HostEvent[] = [];
  const queue = createInProcessQueue({
    concurrency: 4,
    run: async (event) => {
      events.push(event);
      return "done";
    },
    log,
    clock,
  });
  const push = (event: HostEvent): Promise<boolean> => queue.push(event);
  const store = await GitStore.create();
  const gitlabStore = await GitStore.create();
  const hosta = await startGitHub({ store, app: { ...GITHUB_APP, publicKey: appKeys().publicKey } });
  const hostb = await startGitLab({ store: gitlabStore, token: GITLAB_TOKEN });
  const github = createGitHubHost(
    { appId: GITHUB_APP.id, privateKey: appKeys().privateKey, apiUrl: hosta.apiUrl, webUrl: hosta.url, aliases: [] },
    hostParts(clock, keptLogger(appKeys().privateKey, GITLAB_TOKEN, SECRET)),
  );
  const gitlab = createGitLabHost({ url: hostb.url, token: GITLAB_TOKEN, aliases: [] }, hostParts(clock, log));
  const intake = { push, bodies: new BodyBudget(), onBranchPushed: () => undefined, countRefusal: () => undefined };
  const routes = {
    hosta: () => githubWebhook({ ...intake, secret: SECRET, probot: github.probot, log }),
    hostb: () => gitlabWebhook({ ...intake, secret: SECRET, signingToken: undefined, clock, log }),
  };
  let ping = (): Promise<void> => Promise.resolve();
  const server = await listenOnLoopback(
    createWebServer({
      tracing: [],
      webhooks: configured.map((id) => routes[id]()),
      identify: [],
      auth: Router(),
      api: Router(),
      pages: Router(),
      words: [],
      baseUrl: undefined,
      ping: () => ping(),
      trustProxy: false,
      log,
    }),
  );
  for (const forge of [hosta, hostb]) {
    await forge.createRepository(REPOSITORY, { "a.txt": "1" });
    for (const login of ["ana", "bo"]) forge.setAccess(REPOSITORY, login, "write");
  }
  hosta.connect({ url: `${server.url}/webhook/hosta`, secret: SECRET });
  hostb.connect({ url: `${server.url}/webhook/hostb`, secret: SECRET });
  return {
    url: server.url,
    forges: { hosta, hostb },
    clients: { hosta: github, hostb: gitlab },
    events,
    lines,
    get ping() {
      return ping;
    },
    set ping(work) {
      ping = work;
    },
    idle: async () => {
      await hosta.idle();
      await hostb.idle();
      await queue.idle();
    },
    async stop() {
      await hosta.stop();
      await hostb.stop();
      await server.stop();
      await queue.close(0);
      await store.remove();
      await gitlabStore.remove();
    },
  };
}

/** How a host signs what it sends, and two bodies of events that are ours. */
export interface Sender {
  readonly path: string;
  readonly deliveryHeader: string;
  readonly secretHeader: string;
  opened(): string;
  command(): string;
  /** Headers of an authentic delivery of these bytes. */
  headers(body: Buffer | string): HeaderChanges;
}

export const SENDERS: Readonly<Record<HostId, Sender>> = {
  hosta: {
    path: "/webhook/hosta",
    deliveryHeader: "x-github-delivery",
    secretHeader: "x-hub-signature-256",
    opened: () => JSON.stringify(example("pull_request", OPENED)),
    command: () => JSON.stringify(commentOnPullRequest({ action: "created", comment: { body: "svc plan" } })),
    headers: (body) => ({
      "content-type": "application/json",
      "x-github-event": String(body).includes('"comment"') ? "issue_comment" : "pull_request",
      "x-github-delivery": randomUUID(),
      "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`,
    }),
  },
  hostb: {
    path: "/webhook/hostb",
    deliveryHeader: "idempotency-key",
    secretHeader: "x-gitlab-token",
    opened: () => JSON.stringify(sample("merge_request.open")),
    command: () => JSON.stringify(sample("note.on-mr.create")),
    headers: () => ({
      "content-type": "application/json",
      "idempotency-key": randomUUID(),
      "x-gitlab-token": SECRET,
    }),
  },
};

/** Posts bytes as a host would, with some headers changed or, when undefined, left out. */
export async function deliver(root: string, sender: Sender, body: Buffer | string, changes: HeaderChanges = {}) {
  const headers = new Headers();
  for (const [name, value] of Object.entries({ ...sender.headers(body), ...changes })) {
    if (value !== undefined) headers.set(name, value);
  }
  const response = await fetch(`${root}${sender.path}`, { method: "POST", body, headers });
  return { status: response.status, body: await response.json() };
}
