import * as z from "zod";
import type { AuthSection, RoleAssignment } from "../../config/server/server.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import { HOST_TITLES, SERVICE } from "../../names.js";
import { groupsAskedFor } from "./assign-role.js";
import { isRefusal, type LoginFacts, type RedirectProvider } from "./login-provider.js";
import { authorizationUrl, exchangeCode, freshTokens, oauthClient, refusalOfExchange } from "./oauth-client.js";
import {
  type ApiAnswer,
  askMemberships,
  hintFor,
  isRejected,
  type ListedGroups,
  listGroups,
  memberOfAny,
  type Membership,
  providerApi,
  type ProviderApi,
  ProviderFailure,
  unprovenGroups,
} from "./provider-api.js";
import type { LoginRefusal } from "./refusal.js";
import type { ProviderTokens } from "./token-seal.js";

type GitHubLoginOptions = NonNullable<AuthSection["hosta"]> & {
  readonly roleAssignments: readonly RoleAssignment[];
  readonly webUrl: string;
  readonly apiUrl: string;
};

const TITLE = HOST_TITLES.hosta;
const API_HEADERS = {
  accept: "application/vnd.github+json",
  "user-agent": SERVICE,
  "x-github-api-version": "2022-11-28",
};
/** https://docs.github.com/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps ; a GitHub App ignores them. */
const SCOPE = "read:user user:email read:org";

const userAnswer = z.object({ id: z.int(), login: z.string() });
const emailsAnswer = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }));

/** Login with GitHub, https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps */
export function githubLogin(options: GitHubLoginOptions, clock: Clock, log: Log): RedirectProvider {
  const root = `${options.webUrl}/login/oauth`;
  const client = oauthClient({
    ...options,
    issuer: root,
    authorize: `${root}/authorize`,
    token: `${root}/access_token`,
  });
  const context = { provider: "hosta", title: TITLE, addressKey: "hosta.web_url" } as const;
  const factsFor = ({ access }: ProviderTokens) => factsOf(providerApi(options.apiUrl, access, API_HEADERS), options);
  return {
    id: "hosta",
    name: TITLE,
    begin: (attempt, callbackUrl) =>
      authorizationUrl(client, attempt, { redirect_uri: callbackUrl, scope: SCOPE, allow_signup: "false" }),
    async finish(answer, attempt) {
      let tokens: ProviderTokens;
      try {
        tokens = await exchangeCode(client, answer, attempt, clock.now());
      } catch (error) {
        return refusalOfExchange(error, { ...context, answer }, log);
      }
      const facts = await factsFor(tokens);
      return isRefusal(facts) ? facts : { facts, tokens };
    },
    async ask(known) {
      let tokens: ProviderTokens;
      try {
        tokens = await freshTokens(client, known, clock.now());
      } catch (error) {
        return { answer: refusalOfExchange(error, context, log), tokens: known };
      }
      return { answer: await factsFor(tokens), tokens };
    },
  };
}

async function factsOf(api: ProviderApi, options: GitHubLoginOptions): Promise<LoginFacts | LoginRefusal> {
  try {
    const [user, emails] = await Promise.all([api.get("/user"), api.get("/user/emails")]);
    const who = user.status === 200 ? userAnswer.safeParse(user.body) : undefined;
    if (isRejected(user)) return { reason: "token-rejected", title: TITLE };
    if (who?.success !== true) return notVerified("who you are", "Its API did not say: try again in a minute.");
    const list = emails.status === 200 ? emailsAnswer.safeParse(emails.body) : undefined;
    if (list?.success !== true) {
      const hint = "The application needs the scope user:email (a GitHub App: read access to e-mail addresses).";
      return notVerified("your e-mail address", hint);
    }
    const { id, login } = who.data;
    const email = list.data.find(({ primary, verified }) => primary && verified)?.email;
    return await withMemberships({ subject: String(id), username: login, email }, api, options);
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    return { reason: "unreachable", title: TITLE, key: "hosta.api_url" };
  }
}

async function withMemberships(
  who: Pick<LoginFacts, "subject" | "username" | "email">,
  api: ProviderApi,
  { allowedOrgs, allowedTeams, roleAssignments }: GitHubLoginOptions,
): Promise<LoginFacts | LoginRefusal> {
  const memberships = new GitHubMemberships(api, who.username);
  const asked = groupsAskedFor(roleAssignments, "hosta");
  const named = asked.filter(({ name }) => !name.includes("*")).map(({ name }) => name);
  const [orgs, teams, listed] = await Promise.all([
    askMemberships(allowedOrgs, (org) => memberships.organization(org)),
    askMemberships([...allowedTeams, ...named], (team) => memberships.team(team)),
    asked.some(({ name }) => name.includes("*")) ? memberships.allTeams() : { names: [], problem: undefined },
  ]);
  if (allowedOrgs.length > 0) {
    const found = memberOfAny(allowedOrgs, orgs);
    if (found.kind === "unproven") return notVerified("whether you belong to an allowed organization", found.problem);
    if (found.kind === "none") return { reason: "not-in-organization", allowed: allowedOrgs };
  }
  if (allowedTeams.length > 0) {
    const found = memberOfAny(allowedTeams, teams);
    if (found.kind === "unproven") return notVerified("whether you belong to an allowed team", found.problem);
    if (found.kind === "none") return { reason: "not-in-group", what: "team", allowed: allowedTeams };
  }
  const proven = [...teams].flatMap(([name, { kind }]) => (kind === "member" ? [name] : []));
  const groups = [...proven, ...listed.names];
  return { provider: "hosta", ...who, groups, unproven: unprovenGroups(asked, teams, listed.problem) };
}

function notVerified(what: string, hint: string): LoginRefusal {
  return { reason: "not-verified", title: TITLE, what, hint };
}

const membershipAnswer = z.object({ state: z.string() });
const teamNames = z.array(
  z
    .object({ slug: z.string(), organization: z.object({ login: z.string() }) })
    .transform(({ slug, organization }) => `${organization.login}/${slug}`),
);

/** Memberships of a person on GitHub. An open invitation is not a membership. */
class GitHubMemberships {
  constructor(
    private readonly api: ProviderApi,
    private readonly login: string,
  ) {}

  /** https://docs.github.com/rest/orgs/members : 404 for no member, 403 when the organization restricts the application. */
  async organization(org: string): Promise<Membership> {
    const answer = await this.api.get(`/user/memberships/orgs/${encodeURIComponent(org)}`);
    return membershipOf(answer, org);
  }

  /** https://docs.github.com/rest/teams/members : members of child teams count; 404 also for a team that is not visible. */
  async team(name: string): Promise<Membership> {
    const [org = "", slug = ""] = name.split("/");
    const parts = [org, slug, this.login].map(encodeURIComponent);
    const answer = await this.api.get(`/orgs/${parts[0] ?? ""}/teams/${parts[1] ?? ""}/memberships/${parts[2] ?? ""}`);
    return membershipOf(answer, org);
  }

  /** Every team of the person, for patterns with a `*`. */
  allTeams(): Promise<ListedGroups> {
    const tooMany = "You are in more teams than could be read: name the teams in role_assignments.";
    return listGroups(this.api, "/user/teams?", teamNames, { cure: SCOPE_CURE, tooMany });
  }
}

const SCOPE_CURE = "The application needs the scope read:org (a GitHub App: read access to organization members).";

function membershipOf(answer: ApiAnswer, org: string): Membership {
  const { status, body } = answer;
  if (status === 404) return { kind: "none" };
  const parsed = status === 200 ? membershipAnswer.safeParse(body) : undefined;
  if (parsed?.success === true) return { kind: parsed.data.state === "active" ? "member" : "none" };
  const cure = `An owner of the organization ${org} has to approve this application under third-party access, or the application lacks the scope read:org.`;
  return { kind: "unproven", problem: hintFor(answer, cure) };
}
