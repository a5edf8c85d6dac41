import { describe, expect, test } from "@jest/globals";
import { GITLAB_TOKEN } from "../../sandbox/world.js";
import { type HostId, LABELS, TEMPORARY_NAME_PREFIX } from "../../src/names.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";

/*
 * What each scenario ends with: a call that the real GitHub, GitLab or Argo CD would not know, anything left behind, and
 * anything deployed unasked fails it. Each test here plants one of these in a conversation that is honest otherwise.
 */

interface Call {
  readonly method?: string;
  /** Below the API's root. */
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
}

interface Planted extends Call {
  /** The violation that it is. */
  readonly says: RegExp;
}

const pull = `/repos/${REPOSITORY}/pulls/1`;
const onGitHub: readonly Planted[] = [
  { path: `/api/v3${pull}?with=stats`, says: /query\.with is not described/ },
  {
    method: "POST",
    path: `/api/v3/repos/${REPOSITORY}/issues/1/comments`,
    body: { body: "hello", colour: "red" },
    says: /body\.colour is not described/,
  },
  { path: `/api/v3${pull}/approvals`, says: /not served by this sandbox/ },
  {
    method: "POST",
    path: "/api/graphql",
    body: { query: "{ viewer { login mood } }" },
    says: /Cannot query field "mood" on type "User"/,
  },
  {
    method: "POST",
    path: "/api/graphql",
    body: { query: '{ repository(owner: "acme", name: "deploy", colour: "red") { id } }' },
    says: /Unknown argument "colour" on field "Query\.repository"/,
  },
];

const merge = `/api/v4/projects/${encodeURIComponent(REPOSITORY)}/merge_requests/1`;
const onGitLab: readonly Planted[] = [
  { path: `${merge}?with=stats`, says: /parameter with/ },
  {
    method: "POST",
    path: `${merge}/notes`,
    body: { body: "hello", colour: "red" },
    says: /member colour/,
  },
  { path: `${merge}/mood`, says: /no such endpoint/ },
];

const web = "/api/v1/applications/web";
const onArgoCd: readonly Planted[] = [
  {
    method: "DELETE",
    path: "/api/v1/applications/none?cascaded=false&project=default",
    says: /unknown query parameter cascaded/,
  },
  {
    method: "POST",
    path: "/api/v1/applications/none/sync?project=default",
    body: { dryRun: true },
    says: /unknown query parameter project of POST/,
  },
  {
    method: "POST",
    path: "/api/v1/applications/none/sync",
    body: { project: "default", dry: true },
    says: /unknown member ApplicationSyncRequest\.dry/,
  },
  {
    method: "POST",
    path: `${web}/sync`,
    body: {},
    contentType: "application/json; charset=utf-8",
    says: /content type application\/json; charset=utf-8/,
  },
  { path: "/api/v1/application/web", says: /unknown path/ },
  { method: "PATCH", path: "/api/v1/applications", says: /wrong method/ },
];

async function begin(host: HostId): Promise<Bot> {
  const bot = await startBot({ host });
  await bot.open(changeOf(["web"]));
  expect(bot.lastComment(1)).toContain("### Application: `web`");
  expect([...bot.forge.violations, ...bot.argocd.violations]).toEqual([]);
  return bot;
}

async function plant(url: string, authorization: string, call: Call): Promise<void> {
  const { method = "GET", path, body, contentType = "application/json" } = call;
  const headers = { authorization, ...(method === "GET" ? {} : { "content-type": contentType }) };
  // As bytes: to text, fetch would add a content type of its own.
  await fetch(url + path, {
    method,
    headers,
    body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
  });
}

/** As the service itself is known to the code host. */
function authorizationOf(bot: Bot): string {
  if (bot.host === "hostb") return `Bearer ${GITLAB_TOKEN}`;
  return bot.forge.requests.findLast(({ path }) => path === `/api/v3${pull}`)?.authorization ?? "";
}

describe.each(HOSTS)("a scenario on %s", (host) => {
  test("fails by each call that the code host does not know", async () => {
    const bot = await begin(host);
    const calls = host === "hosta" ? onGitHub : onGitLab;
    for (const call of calls) await plant(bot.forge.url, authorizationOf(bot), call);
    expect(bot.forge.violations).toEqual(calls.map(({ says }) => expect.stringMatching(says)));
    await expect(bot.end()).rejects.toThrow(calls[0]?.says);
  });
});

describe("a scenario", () => {
  test("fails by each call that Argo CD does not know", async () => {
    const bot = await begin("hosta");
    for (const call of onArgoCd) await plant(bot.argocd.url, `Bearer ${bot.world.argocdToken}`, call);
    expect(bot.argocd.violations).toEqual(onArgoCd.map(({ says }) => expect.stringMatching(says)));
    await expect(bot.end()).rejects.toThrow(onArgoCd[0]?.says);
  });

  test("fails by a temporary Application that nobody deletes", async () => {
    const bot = await begin("hosta");
    bot.argocd.addApplication({
      metadata: { name: `${TEMPORARY_NAME_PREFIX}1-left`, labels: { [LABELS.temporary]: "true" } },
      spec: { destination: {}, source: { repoURL: bot.forge.cloneUrl(REPOSITORY), path: "apps/web" } },
    });
    await expect(bot.end()).rejects.toThrow(`${TEMPORARY_NAME_PREFIX}1-left`);
  });

  test("fails by a sync that nobody asked for", async () => {
    const bot = await begin("hosta");
    const sync = { method: "POST", path: "/api/v1/applications/web/sync", body: { project: "default" } };
    await plant(bot.argocd.url, `Bearer ${bot.world.argocdToken}`, sync);
    expect(bot.argocd.violations).toEqual([]);
    await expect(bot.end()).rejects.toThrow("sync web");
  });
});
