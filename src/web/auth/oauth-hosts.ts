import * as z from "zod";
import type { AuthSection } from "../../config/server/server.js";
import { SERVICE } from "../../names.js";
import { type ApiAnswer, hintFor } from "./oauth-client.js";
import type { Membership, OAuthHost } from "./oauth-login.js";

/** GitHub, https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps */
export function github(
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
      // https://docs.github.com/rest/teams/members : members of child teams count; 404 also for a team that is not visible.
      async ask(api, name, { username }) {
        const [org = "", slug = ""] = name.split("/");
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

const gitlabMember = z.object({ id: z.int(), state: z.string(), membership_state: z.string().optional() });

/** GitLab, https://docs.gitlab.com/api/oauth2/#authorization-code-with-proof-key-for-code-exchange-pkce */
export function gitlab(options: NonNullable<AuthSection["hostb"]>): OAuthHost {
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
        const { id, state, membership_state: membership = "active" } = parsed.data;
        const active = String(id) === subject && state === "active" && membership === "active";
        return { kind: active ? "member" : "none" };
      },
      // Without a minimum level, GitLab adds all public groups.
      list: "/groups?min_access_level=10&",
      names: z.array(z.object({ full_path: z.string() }).transform(({ full_path: path }) => path)),
      cure: GITLAB_CURE,
      tooMany: "You are in more groups than svc reads: name the groups in role_assignments without a star.",
    },
  };
}
