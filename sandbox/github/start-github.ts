import express, { type ErrorRequestHandler } from "express";
import { Background } from "../background.js";
import { FaultSwitch } from "../faults.js";
import type { GitStore } from "../git/git-store.js";
import { smartHttp } from "../git/smart-http.js";
import { listenOnLoopback } from "../loopback.js";
import { RequestLog } from "../request-log.js";
import { Deliveries } from "./deliveries.js";
import { GitHubForge } from "./github-forge.js";
import { graphqlEndpoint } from "./graphql/endpoint.js";
import { accessToken } from "./oauth/access-token.js";
import { authorizePages } from "./oauth/authorize.js";
import { userApi } from "./oauth/user-api.js";
import { commentPayload, mergePushPayload, pullPayload } from "./payloads.js";
import { pushTo } from "./pull-acts.js";
import { tellGroup, updateOf } from "./pushes.js";
import { registrationPages } from "./registration-pages.js";
import { errorBody, restApi } from "./rest.js";
import type { Announce } from "./routes/call.js";
import { permits, Tokens } from "./tokens.js";
import { type Pull, type QueueEntry, World, type AppFacts } from "./world.js";

export interface GitHubOptions {
  readonly store: GitStore;
  readonly app: {
    readonly id: number;
    readonly slug: string;
    /** PEM; the App signs with the private key. */
    readonly publicKey: string;
    /** For those who register an App from a manifest. */
    readonly privateKey?: string;
  };
}

/** What `app.yml` asks for. */
const permissions: AppFacts["permissions"] = {
  metadata: "read",
  contents: "write",
  issues: "read",
  pull_requests: "write",
  statuses: "write",
  deployments: "write",
  members: "read",
  merge_queues: "read",
};

/** Starts a GitHub on a free loopback port. The caller keeps owning the store. */
export async function startGitHub({ store, app }: GitHubOptions): Promise<GitHubForge> {
  const requests = new RequestLog();
  const violations: string[] = [];
  const faults = new FaultSwitch();
  const webhooks = new Deliveries(app.id);
  const violated = (what: string): void => void violations.push(what);

  const server = express();
  server.disable("x-powered-by");
  const listening = await listenOnLoopback(server);
  const facts = { id: app.id, slug: app.slug, privateKey: app.privateKey, permissions };
  const world = new World(listening.url, facts, store);
  world.delivered = webhooks.answers;
  const tokens = new Tokens(world, app.publicKey);

  server.use(requests.middleware(({ headers }) => headers.authorization));
  server.use(faults.middleware());
  server.use(world.clock.dates());
  server.use((_request, response, next) => {
    response.setHeader("x-github-enterprise-version", world.version);
    next();
  });
  server.use(
    smartHttp(
      store,
      (name, header) => mayFetch(world, tokens, name, header),
      (path) => /^\/([^/]+\/[^/]+?)(?:\.git)?$/.exec(path)?.[1],
    ),
  );
  server.use(authorizePages(world));
  server.use(registrationPages(world));
  server.post("/login/oauth/access_token", accessToken(world));
  server.use("/api/v3", userApi(world, violated));
  server.use("/api", express.json({ type: () => true, limit: "10mb" }));
  server.use("/api/v3", restApi({ world, tokens, violated, announce: announcements(world, webhooks, violated) }));
  const opened = (pull: Pull): void =>
    void webhooks
      .send("pull_request", () => pullPayload(world, pull, { action: "opened" }, world.bot))
      .catch((error: unknown) => violated(`could not create a webhook: ${String(error)}`));
  const queued = (entry: QueueEntry): void =>
    void webhooks
      .send("pull_request", () => pullPayload(world, entry.pull, { action: "enqueued" }, world.bot))
      .then(() => tellGroup(world, webhooks, entry.baseSha, entry))
      .catch((error: unknown) => violated(`could not create a webhook: ${String(error)}`));
  server.post("/api/graphql", graphqlEndpoint({ world, tokens, violated, opened, queued }));
  server.use((request, response) => {
    violated(`${request.method} ${request.path}: not served by this sandbox`);
    response.status(404).json(errorBody(404, "Not Found"));
  });
  server.use(unreadable);

  return new GitHubForge({
    world,
    webhooks,
    faults,
    requests,
    violations,
    stop: async () => {
      faults.clear();
      await listening.stop();
      await webhooks.stop();
    },
  });
}

/** Anyone may read a public repository; a private one needs a token. Wrong credentials never pass. */
function mayFetch(world: World, tokens: Tokens, name: string, header: string | undefined): boolean {
  const repository = world.repositories.get(name);
  if (repository === undefined) return false;
  if (header === undefined) return !repository.private;
  const caller = tokens.caller(header);
  return caller.kind === "installation" && permits(caller.token, repository, "contents", "read");
}

/** Webhooks for the App's own acts. */
function announcements(world: World, webhooks: Deliveries, violated: (what: string) => void): Announce {
  const failed = (error: unknown): void => violated(`could not create a webhook: ${String(error)}`);
  return {
    comment: (issue, comment, previous) =>
      void webhooks
        .send("issue_comment", () => commentPayload(world, issue, comment, world.bot, previous))
        .catch(failed),
    closed: (pull) => {
      if (pull.merged !== undefined) {
        void webhooks.send("push", () => mergePushPayload(world, pull, world.bot)).catch(failed);
      }
      void webhooks.send("pull_request", () => pullPayload(world, pull, { action: "closed" }, world.bot)).catch(failed);
    },
    updates: (pull) => {
      const { headRepository, headBranch, headSha: before } = pull;
      const update = async () => {
        const push = { ...(await updateOf(world, pull, world.bot.login)), by: world.bot.login };
        const { commit: after } = await pushTo(world, headRepository, headBranch, {}, push);
        return pullPayload(world, pull, { action: "synchronize", before, after }, world.bot);
      };
      const payload = update();
      pull.updating = new Background(payload.then(() => undefined, failed));
      void webhooks.send("pull_request", () => payload).catch(failed);
    },
  };
}

const unreadable: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  if (response.headersSent) {
    next(error);
    return;
  }
  const status = error instanceof Error && "status" in error ? Number(error.status) : 500;
  response.status(status).json(errorBody(status, status === 400 ? "Problems parsing JSON" : String(error)));
};
