import * as z from "zod";
import type { AuthSection, RoleAssignment } from "../../config/server/server.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import { HOST_TITLES } from "../../names.js";
import { groupsAskedFor } from "./assign-role.js";
import { isRefusal, type LoginFacts, type RedirectProvider } from "./login-provider.js";
import { authorizationUrl, exchangeCode, freshTokens, oauthClient, refusalOfExchange } from "./oauth-client.js";
import {
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

type GitLabLoginOptions = NonNullable<AuthSection["hostb"]> & {
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
  external: z.boolean().nullish(),
});

/** Login with GitLab, https://docs.gitlab.com/api/oauth2/#authorization-code-with-proof-key-for-code-exchange-pkce */
export function gitlabLogin(options: GitLabLoginOptions, clock: Clock, log: Log): RedirectProvider {
  const { url } = options;
  const client = oauthClient({
    ...options,
    issuer: url,
    authorize: `${url}/oauth/authorize`,
    token: `${url}/oauth/token`,
  });
  const context = { provider: "hostb", title: TITLE, addressKey: "auth.hostb.url" } as const;
  const factsFor = ({ access }: ProviderTokens) => factsOf(providerApi(`${url}/api/v4`, access, {}), options);
  return {
    id: "hostb",
    name: TITLE,
    begin: (attempt, callbackUrl) => authorizationUrl(client, attempt, { redirect_uri: callbackUrl, scope: SCOPE }),
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

async function factsOf(api: ProviderApi, options: GitLabLoginOptions): Promise<LoginFacts | LoginRefusal> {
  try {
    const answer = await api.get("/user");
    const who = answer.status === 200 ? userAnswer.safeParse(answer.body) : undefined;
    if (isRejected(answer)) return { reason: "token-rejected", title: TITLE };
    if (who?.success !== true) return notVerified("who you are", "Its API did not say: try again in a minute.");
    const { id, username, state, email, confirmed_at: confirmedAt, external } = who.data;
    const confirmed = typeof confirmedAt === "string" && confirmedAt !== "";
    if (state !== "active" || !confirmed) return { reason: "inactive", title: TITLE };
    const person = { subject: String(id), username, email: email ?? undefined, external: external ?? true };
    return await withMemberships(person, api, options);
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    return { reason: "unreachable", title: TITLE, key: "auth.hostb.url" };
  }
}

async function withMemberships(
  who: Pick<LoginFacts, "subject" | "username" | "email" | "external">,
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

const memberAnswer = z.object({ id: z.int(), state: z.string(), membership_state: z.string().optional() });
const groupNames = z.array(z.object({ full_path: z.string() }).transform(({ full_path: path }) => path));

const CURE = "The application needs the scope read_api. If the group enforces single sign-on, sign in there first.";

/** Memberships of a person on GitLab. A member of a group is a member of its subgroups, but not the other way round. */
class GitLabMemberships {
  constructor(
    private readonly api: ProviderApi,
    private readonly userId: string,
  ) {}

  /**
   * https://docs.gitlab.com/api/group_members/ : `all` includes inherited and invited members; 404 for non-members
   * and invisible groups.
   */
  async group(fullPath: string): Promise<Membership> {
    const answer = await this.api.get(`/groups/${encodeURIComponent(fullPath)}/members/all/${this.userId}`);
    if (answer.status === 404) return { kind: "none" };
    const parsed = answer.status === 200 ? memberAnswer.safeParse(answer.body) : undefined;
    if (parsed?.success !== true) return { kind: "unproven", problem: hintFor(answer, CURE) };
    const { id, state, membership_state: membership = "active" } = parsed.data;
    const active = String(id) === this.userId && state === "active" && membership === "active";
    return { kind: active ? "member" : "none" };
  }

  /** All groups of the person, for patterns with a `*`. Without a minimum level, GitLab adds all public groups. */
  allGroups(): Promise<ListedGroups> {
    const tooMany = "You are in more groups than svc reads: name the groups in role_assignments without a star.";
    return listGroups(this.api, "/groups?min_access_level=10&", groupNames, { cure: CURE, tooMany });
  }
}
