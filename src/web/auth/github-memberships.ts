import { z } from "zod";
import { hintFor, listGroups, type ListedGroups, type Membership } from "./membership.js";
import type { ApiAnswer, ProviderApi } from "./provider-api.js";

const membershipAnswer = z.object({ state: z.string() });
const teamNames = z.array(
  z
    .object({ slug: z.string(), organization: z.object({ login: z.string() }) })
    .transform(({ slug, organization }) => `${organization.login}/${slug}`),
);

/** Memberships of a person on GitHub. An open invitation is not a membership. */
export class GitHubMemberships {
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
