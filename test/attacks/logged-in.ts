import { expect } from "@jest/globals";
import type { GitHubForge } from "../../sandbox/github/github-forge.js";
import type { GitLabForge } from "../../sandbox/gitlab/gitlab-forge.js";
import type { HostId } from "../../src/names.js";
import { startBot, REPOSITORY, type Bot } from "../scenarios/bot.js";
import { CLIENT } from "../web/auth/forges.js";
import { PASSWORD } from "../web/site-under-test.js";
import { Visitor } from "../web/visitor.js";

/** Where people reach the service in these tests. */
const BASE_URL = "http://svc.example.com";

/** The service over one private repository, with login at its host and users of the file. */
export function startWithLogin(host: HostId, auth: object = {}, allowed: object = {}): Promise<Bot> {
  return startBot({
    host,
    config: (world) => ({
      auth: {
        enabled: true,
        session_secret: "session-secret-of-the-tests-5b1f0e",
        cookie_secure: false,
        basic: { users: Object.entries(PEOPLE).map(([username, role]) => ({ username, password: PASSWORD, role })) },
        [host]: { ...CLIENT, ...(host === "hostb" ? { url: world.gitlab?.url } : {}), ...allowed },
        ...auth,
      },
    }),
    prepare: (_world, forge) => {
      forge.setVisibility(REPOSITORY, "private");
      const client = { clientId: CLIENT.client_id, clientSecret: CLIENT.client_secret };
      const callbackUrl = `${BASE_URL}/auth/${host}/callback`;
      const { login } = forge as GitHubForge | GitLabForge;
      if ("registerApp" in login) login.registerApp({ ...client, callbackUrl });
      else {
        const scopes = ["read_user", "read_api"];
        login.registerApplication({ ...client, redirectUris: [callbackUrl], scopes });
      }
    },
  });
}

/** Users of the file. */
const PEOPLE = { olga: "admin", vera: "user" } as const;

/** A browser in which somebody logged in at the code host. */
export async function loggedIn(bot: Bot, login: string): Promise<Visitor> {
  loginOf(bot).signedIn = login;
  const visitor = browserOf(bot);
  await visitor.open(`/auth/${bot.host}/login`);
  expect(await accountOf(visitor)).toMatchObject({ username: login, provider: bot.host });
  return visitor;
}

/** A browser in which a user of the file logged in. */
export async function withPassword(bot: Bot, username: keyof typeof PEOPLE): Promise<Visitor> {
  const visitor = browserOf(bot);
  const answer = await visitor.ask("/auth/basic/login", { json: { username, password: PASSWORD } });
  expect(answer.status).toBe(200);
  return visitor;
}

/** The host's side of logins. */
export function loginOf({ forge }: Bot): (GitHubForge | GitLabForge)["login"] {
  return (forge as GitHubForge | GitLabForge).login;
}

export function browserOf(bot: Bot): Visitor {
  return new Visitor(BASE_URL, { [BASE_URL]: bot.service.url });
}

/** Who the service says is logged in; undefined for nobody. */
export async function accountOf(visitor: Visitor): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { text } = await visitor.ask("/auth/me", { headers: { accept: "application/json" } });
  return (JSON.parse(text) as { user?: Readonly<Record<string, unknown>> }).user;
}
