import { z } from "zod";
import type { AuthSection, RoleAssignment } from "../../config/server-config.js";
import type { Log } from "../../core/ports/log.js";
import { HOST_TITLES } from "../../names.js";
import { groupsAskedFor } from "./assign-role.js";
import { GitLabMemberships } from "./gitlab-memberships.js";
import type { LoginFacts, RedirectProvider } from "./login-provider.js";
import { askMemberships, memberOfAny, unprovenGroups } from "./membership.js";
import { authorizationUrl, exchangeCode, oauthClient } from "./oauth-client.js";
import { ProviderFailure, providerApi, type ProviderApi } from "./provider-api.js";
import { refusalOfExchange } from "./provider-refusal.js";
import type { LoginRefusal } from "./refusal.js";

export type GitLabLoginOptions = NonNullable<AuthSection["hostb"]> & {
  readonly roleAssignments: readonly RoleAssignment[];
};

const TITLE = HOST_TITLES.hostb;
const SCOPE = "read_user read_api";

const userAnswer = z.object({
  id: z.int(),
  username: z.string(),
  state: z.string(),
  email: z.string().nullish(),
  confirmed_at: z.string().nullish(),
});

/** Login with GitLab, https://docs.gitlab.com/api/oauth2/#authorization-code-with-proof-key-for-code-exchange-pkce */
export function gitlabLogin(options: GitLabLoginOptions, log: Log): RedirectProvider {
  const { url } = options;
  const client = oauthClient({
    ...options,
    issuer: url,
    authorize: `${url}/oauth/authorize`,
    token: `${url}/oauth/token`,
  });
  return {
    id: "hostb",
    name: TITLE,
    begin: (attempt, callbackUrl) => authorizationUrl(client, attempt, { redirect_uri: callbackUrl, scope: SCOPE }),
    async finish(answer, attempt) {
      let token: string;
      try {
        token = await exchangeCode(client, answer, attempt);
      } catch (error) {
        const context = { provider: "hostb", title: TITLE, addressKey: "auth.hostb.url", answer } as const;
        return refusalOfExchange(error, context, log);
      }
      return factsOf(providerApi(`${url}/api/v4`, token, {}), options);
    },
  };
}

async function factsOf(api: ProviderApi, options: GitLabLoginOptions): Promise<LoginFacts | LoginRefusal> {
  try {
    const answer = await api.get("/user");
    const who = answer.status === 200 ? userAnswer.safeParse(answer.body) : undefined;
    if (who?.success !== true) return notVerified("who you are", "Its API did not say: try again in a minute.");
    const { id, username, state, email, confirmed_at: confirmedAt } = who.data;
    const confirmed = typeof confirmedAt === "string" && confirmedAt !== "";
    if (state !== "active" || !confirmed) return { reason: "inactive", title: TITLE };
    return await withMemberships({ subject: String(id), username, email: email ?? undefined }, api, options);
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    return { reason: "unreachable", title: TITLE, key: "auth.hostb.url" };
  }
}

async function withMemberships(
  who: Pick<LoginFacts, "subject" | "username" | "email">,
  api: ProviderApi,
  { allowedGroups, roleAssignments }: GitLabLoginOptions,
): Promise<LoginFacts | LoginRefusal> {
  const memberships = new GitLabMemberships(api, who.subject);
  const asked = groupsAskedFor(roleAssignments, "hostb");
  const named = asked.filter(({ name }) => !name.includes("*")).map(({ name }) => name);
  const [found, listed] = await Promise.all([
    askMemberships([...allowedGroups, ...named], (group) => memberships.group(group)),
    asked.some(({ name }) => name.includes("*")) ? memberships.allGroups() : { names: [], problem: undefined },
  ]);
  if (allowedGroups.length > 0) {
    const any = memberOfAny(allowedGroups, found);
    if (any.kind === "unproven") return notVerified("whether you belong to an allowed group", any.problem);
    if (any.kind === "none") return { reason: "not-in-group", what: "group", allowed: allowedGroups };
  }
  const proven = [...found].flatMap(([name, { kind }]) => (kind === "member" ? [name] : []));
  const groups = [...proven, ...listed.names];
  return { provider: "hostb", ...who, groups, unproven: unprovenGroups(asked, found, listed.problem) };
}

function notVerified(what: string, hint: string): LoginRefusal {
  return { reason: "not-verified", title: TITLE, what, hint };
}
