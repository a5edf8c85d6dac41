import { type RequestHandler, Router } from "express";
import { LRUCache } from "lru-cache";
import * as z from "zod";
import type { AuthSection, ServerConfig } from "../../config/server/server.js";
import type { Account } from "../../core/model/account.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import type { Standing, UserStore } from "../../core/ports/stores.js";
import { SERVICE } from "../../names.js";
import type { Stores } from "../../store/stores.js";
import { isIdentified, setViewer, type Viewer } from "../viewer.js";
import { identifyToken } from "./api-tokens.js";
import { assignRole, meaningOf } from "./assign-role.js";
import { accountOf, type RedirectProvider } from "./login-provider.js";
import { type ApiAnswer, hintFor } from "./oauth-client.js";
import { oauthLogin, type Membership, type OAuthHost } from "./oauth-login.js";
import { oidcLogin } from "./oidc-login.js";
import { isRefusal, type LoginRefusal } from "./refusal.js";
import { authRoutes, type AuthParts } from "./routes.js";
import { WebSessions } from "./session.js";
import { type ProviderTokens, TokenSeal } from "./token-seal.js";

interface AuthOptions {
  readonly config: Pick<ServerConfig, "auth" | "server" | "hosta">;
  readonly stores: Pick<Stores, "users" | "sessions" | "attempts">;
  readonly clock: Clock;
  readonly log: Log;
}

interface Auth {
  readonly identify: readonly RequestHandler[];
  readonly routes: Router;
  /** Asks the login provider again. @returns The account with its present role; undefined if it may not log in any more. @throws {StoreUnavailable} */
  readonly current: (account: Account) => Promise<Account | undefined>;
}

/** Login, sessions and roles as configured. With authentication off, everyone is an `unguarded` viewer. */
export function createAuth({ config, stores, clock, log }: AuthOptions): Auth {
  const { auth } = config;
  if (!auth.enabled) {
    return { identify: [identifyNobody()], routes: Router(), current: () => Promise.resolve(undefined) };
  }
  if (auth.sessionSecret === undefined) throw new TypeError("auth.enabled without auth.session_secret");
  const sessions = new WebSessions({ ...auth, secret: auth.sessionSecret }, stores.sessions, clock);
  const providers = providersOf(config, clock, log);
  for (const { pattern } of auth.roleAssignments.filter((one) => meaningOf(one).kind === "nothing")) {
    log.warn({ pattern }, "a role assignment matches nobody: a group needs its provider (github, gitlab or oidc)");
  }
  const { users, attempts } = stores;
  const seal = new TokenSeal(auth.sessionSecret);
  const standings = new StandingChecks({ config, users, providers, seal, clock, log });
  return {
    identify: [
      identifyToken({ tokens: auth.apiTokens, attempts, log }),
      unlessIdentified(sessions.middleware()),
      unlessIdentified(identify(sessions, users, standings)),
    ],
    routes: authRoutes({ config, providers, sessions, users, attempts, seal, clock, log }),
    current: (account) => standings.current(account),
  };
}

function providersOf({ auth, hosta }: AuthOptions["config"], clock: Clock, log: Log): readonly RedirectProvider[] {
  const githubAt = { apiUrl: hosta?.apiUrl ?? "https://api.github.com", webUrl: hosta?.webUrl ?? "https://github.com" };
  const hosts = [
    ...(auth.hosta === undefined ? [] : [github(auth.hosta, githubAt)]),
    ...(auth.hostb === undefined ? [] : [gitlab(auth.hostb)]),
  ];
  return [
    ...hosts.map((host) => oauthLogin(host, auth.roleAssignments, clock, log)),
    ...(auth.oidc === undefined ? [] : [oidcLogin(auth.oidc, clock, log)]),
  ];
}

/** With authentication off: records every request as `unguarded`. */
function identifyNobody(): RequestHandler {
  return (request, _response, next) => {
    setViewer(request, { kind: "unguarded" });
    next();
  };
}

function unlessIdentified(handler: RequestHandler): RequestHandler {
  return (request, response, next) => {
    if (!isIdentified(request)) return handler(request, response, next);
    next();
    return undefined;
  };
}

/** Records who makes each request, with the current role. Mount it after the sessions. */
function identify(sessions: WebSessions, users: UserStore, standings: StandingChecks): RequestHandler {
  return async (request, _response, next) => {
    const found = sessions.accountOf(request);
    const known = typeof found === "object" ? await users.find(found.id) : undefined;
    const account = known && (await standings.current(known));
    const viewer: Viewer =
      account === undefined ? { kind: "anonymous", expired: found !== "none" } : { kind: "account", account };
    setViewer(request, viewer);
    next();
  };
}

/** How often the login provider is asked whether somebody still belongs here, and with which role. */
const ASKED_EVERY_MS = 15 * 60_000;
/** How long somebody stays logged in, with the role they have, while the provider gives no answer. */
const UNANSWERED_MS = 60 * 60_000;
const MOST_REMEMBERED = 10_000;

type StandingParts = Pick<AuthParts, "config" | "users" | "providers" | "seal" | "clock" | "log">;

/** What the provider's answer means for a login. */
type Verdict =
  | { readonly kind: "stays"; readonly account: Account }
  | { readonly kind: "left"; readonly reason: string }
  | { readonly kind: "unclear"; readonly reason: string };

/** Asks the provider every 15 minutes about whoever uses a session. Logs out who may not log in any more; roles that no admin set follow. */
class StandingChecks {
  /** When this replica last checked each account, in milliseconds since 1970. */
  readonly #seen = new LRUCache<string, number>({ maxSize: MOST_REMEMBERED, sizeCalculation: () => 1 });

  constructor(private readonly parts: StandingParts) {}

  /** The account as it is now; undefined if the person is logged out. Asks the provider at most every 15 minutes. */
  async current(account: Account): Promise<Account | undefined> {
    const { config, users, providers, clock } = this.parts;
    const { id, provider: name } = account;
    const now = clock.now().getTime();
    const isSeen = (this.#seen.get(id) ?? -Infinity) > now - ASKED_EVERY_MS;
    if (name === "basic") {
      const written = config.auth.basic?.users.filter(({ username }) => `basic:${username}` === id) ?? [];
      if (written.length === 0) return undefined;
      if (isSeen) return account;
      this.#seen.set(id, now);
      const role = written.every((user) => user.role === "admin") ? "admin" : "user";
      return users.signIn({ ...account, role }, 0);
    }
    const provider = providers.find((one) => one.id === name);
    if (provider === undefined) return undefined; // Removed from the configuration since the login.
    if (isSeen) return account;
    const standing = await users.standing(id);
    if (standing === undefined) {
      // GitHub and GitLab always send tokens: without them, the standing has expired or was removed.
      if (name !== "oidc") return undefined;
      this.#seen.set(id, now);
      return account;
    }
    if (standing.askedAt > now - ASKED_EVERY_MS) {
      this.#seen.set(id, standing.askedAt);
      return account;
    }
    const claimed = { ...standing, askedAt: now };
    // Only one request of all replicas asks: a refresh token may work once. The others go on meanwhile.
    if (!(await users.renew(id, standing, claimed))) return users.find(id);
    this.#seen.set(id, now);
    return this.#check(account, claimed, provider);
  }

  async #check(account: Account, standing: Standing, provider: RedirectProvider): Promise<Account | undefined> {
    const { users, seal, log } = this.parts;
    const { id } = account;
    const known = seal.open(standing.sealed, id);
    const { verdict, tokens } =
      known === undefined
        ? { verdict: { kind: "left", reason: "unreadable-tokens" } as const, tokens: undefined }
        : await this.#ask(account, provider, known);
    const sealed = tokens === undefined || tokens === known ? standing.sealed : seal.seal(tokens, id);
    switch (verdict.kind) {
      case "stays":
        await users.renew(id, standing, { ...standing, sealed, provenAt: standing.askedAt }, verdict.account);
        break;
      case "unclear":
        log.warn({ account: id, reason: verdict.reason }, "the login provider did not confirm a person");
        if (standing.askedAt - standing.provenAt < UNANSWERED_MS) {
          await users.renew(id, standing, { ...standing, sealed });
        } else await this.#end(id, standing, "unanswered");
        break;
      case "left":
        await this.#end(id, standing, verdict.reason);
        break;
    }
    return users.find(id);
  }

  async #end(id: string, standing: Standing, reason: string): Promise<void> {
    if (await this.parts.users.end(id, standing)) {
      this.parts.log.warn({ account: id, reason }, "a session was ended: the person may no longer log in");
    }
  }

  async #ask(
    account: Account,
    provider: RedirectProvider,
    known: ProviderTokens,
  ): Promise<{ readonly verdict: Verdict; readonly tokens: ProviderTokens }> {
    try {
      const { answer, tokens } = await provider.ask(known, account.id.slice(account.id.indexOf(":") + 1));
      return { verdict: this.#verdictOn(account, answer), tokens };
    } catch (error) {
      this.parts.log.warn({ err: error, provider: provider.id }, "asking the login provider again failed");
      return { verdict: { kind: "unclear", reason: "failed" }, tokens: known };
    }
  }

  #verdictOn(account: Account, answer: Awaited<ReturnType<RedirectProvider["ask"]>>["answer"]): Verdict {
    if (isRefusal(answer)) return { kind: LOSSES.has(answer.reason) ? "left" : "unclear", reason: answer.reason };
    const { auth } = this.parts.config;
    const assigned = assignRole(auth.roleAssignments, auth.defaultRole, answer);
    if (assigned.kind === "unproven") return { kind: "unclear", reason: `not-verified: ${assigned.pattern}` };
    const now = accountOf(answer, assigned.role);
    return now.id === account.id ? { kind: "stays", account: now } : { kind: "left", reason: "another-person" };
  }
}

/** Refusals that prove, when the provider is asked again about somebody who is logged in, that they may no longer be. */
const LOSSES: ReadonlySet<LoginRefusal["reason"]> = new Set([
  "not-in-organization",
  "not-in-group",
  "token-rejected",
  "no-email",
  "email-not-verified",
  "wrong-domain",
  "inactive",
  "code-refused",
]);

/** GitHub, https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps */
function github(
  options: NonNullable<AuthSection["hosta"]>,
  { webUrl, apiUrl }: { readonly webUrl: string; readonly apiUrl: string },
): OAuthHost {
  const root = `${webUrl}/login/oauth`;
  return {
    id: "hosta",
    client: options,
    issuer: root,
    authorize: `${root}/authorize`,
    token: `${root}/access_token`,
    // https://docs.github.com/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps ; a GitHub App ignores them.
    parameters: { scope: "read:user user:email read:org", allow_signup: "false" },
    api: apiUrl,
    headers: { accept: "application/vnd.github+json", "user-agent": SERVICE, "x-github-api-version": "2022-11-28" },
    keys: { login: "github.web_url", api: "github.api_url" },
    user: z.object({ id: z.int(), login: z.string() }).transform(({ id, login }) => {
      return { subject: String(id), username: login, email: undefined, active: true };
    }),
    emails: {
      path: "/user/emails",
      verified: z
        .array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }))
        .transform((all) => all.find(({ primary, verified }) => primary && verified)?.email),
      hint: "The application needs the scope user:email (a GitHub App: read access to e-mail addresses).",
    },
    organizations: {
      allowed: options.allowedOrgs,
      // https://docs.github.com/rest/orgs/members : 404 for no member, 403 when the organization restricts the application.
      ask: async (api, org) => githubMembership(await api(`/user/memberships/orgs/${encodeURIComponent(org)}`), org),
    },
    groups: {
      what: "team",
      allowed: options.allowedTeams,
      // https://docs.github.com/rest/teams/members : members of child teams count; 404 also for a team that is not visible. A slug has
      // no slash: whoever wrote one, as for a child team, did not mean the team with which the name begins.
      async ask(api, name, { username }) {
        const [org = "", slug = "", ...rest] = name.split("/");
        if (slug === "" || rest.length > 0) return { kind: "none" };
        const [at, team, login] = [org, slug, username].map(encodeURIComponent);
        return githubMembership(await api(`/orgs/${at ?? ""}/teams/${team ?? ""}/memberships/${login ?? ""}`), org);
      },
      list: "/user/teams?",
      names: z.array(
        z
          .object({ slug: z.string(), organization: z.object({ login: z.string() }) })
          .transform(({ slug, organization }) => `${organization.login}/${slug}`),
      ),
      cure: "The application needs the scope read:org (a GitHub App: read access to organization members).",
      tooMany: "You are in more teams than could be read: name the teams in role_assignments.",
    },
  };
}

const githubMember = z.object({ state: z.string() });

/** An open invitation is not a membership. */
function githubMembership(answer: ApiAnswer, org: string): Membership {
  if (answer.status === 404) return { kind: "none" };
  const parsed = answer.status === 200 ? githubMember.safeParse(answer.body) : undefined;
  if (parsed?.success === true) return { kind: parsed.data.state === "active" ? "member" : "none" };
  const cure = `An owner of the organization ${org} has to approve this application under third-party access, or the application lacks the scope read:org.`;
  return { kind: "unproven", problem: hintFor(answer, cure) };
}

const GITLAB_CURE =
  "The application needs the scope read_api. If the group enforces single sign-on, sign in there first.";

/** The lowest level of a member. Below it is Minimal Access, which single sign-on may give everybody: https://docs.gitlab.com/user/permissions/#users-with-minimal-access */
const GITLAB_GUEST = 10;

const gitlabMember = z.object({
  id: z.int(),
  state: z.string(),
  membership_state: z.string().optional(),
  access_level: z.number(),
});

/** GitLab, https://docs.gitlab.com/api/oauth2/#authorization-code-with-proof-key-for-code-exchange-pkce */
function gitlab(options: NonNullable<AuthSection["hostb"]>): OAuthHost {
  const { url } = options;
  return {
    id: "hostb",
    client: options,
    issuer: url,
    authorize: `${url}/oauth/authorize`,
    token: `${url}/oauth/token`,
    parameters: { scope: "read_user read_api" },
    api: `${url}/api/v4`,
    headers: {},
    keys: { login: "auth.gitlab.url", api: "auth.gitlab.url" },
    user: z
      .object({
        id: z.int(),
        username: z.string(),
        state: z.string(),
        email: z.string().nullish(),
        confirmed_at: z.string().nullish(),
        external: z.boolean().nullish(),
      })
      .transform(({ id, username, state, email, confirmed_at: confirmedAt, external }) => ({
        subject: String(id),
        username,
        email: email ?? undefined,
        external: external ?? true,
        active: state === "active" && (confirmedAt ?? "") !== "",
      })),
    groups: {
      what: "group",
      allowed: options.allowedGroups,
      // https://docs.gitlab.com/api/group_members/ : `all` includes inherited and invited members, but none of subgroups; 404
      // for non-members and invisible groups.
      async ask(api, fullPath, { subject }) {
        const answer = await api(`/groups/${encodeURIComponent(fullPath)}/members/all/${subject}`);
        if (answer.status === 404) return { kind: "none" };
        const parsed = answer.status === 200 ? gitlabMember.safeParse(answer.body) : undefined;
        if (parsed?.success !== true) return { kind: "unproven", problem: hintFor(answer, GITLAB_CURE) };
        const { id, state, membership_state: membership = "active", access_level: level } = parsed.data;
        const active = String(id) === subject && state === "active" && membership === "active";
        return { kind: active && level >= GITLAB_GUEST ? "member" : "none" };
      },
      // Without a minimum level, GitLab adds all public groups.
      list: `/groups?min_access_level=${GITLAB_GUEST}&`,
      names: z.array(z.object({ full_path: z.string() }).transform(({ full_path: path }) => path)),
      cure: GITLAB_CURE,
      tooMany: "You are in more groups than svc reads: name the groups in role_assignments without a star.",
    },
  };
}
