import { z } from "zod";
import { hintFor, listGroups, type ListedGroups, type Membership } from "./membership.js";
import type { ProviderApi } from "./provider-api.js";

const memberAnswer = z.object({ id: z.int(), state: z.string(), membership_state: z.string().optional() });
const groupNames = z.array(z.object({ full_path: z.string() }).transform(({ full_path: path }) => path));

const CURE = "The application needs the scope read_api. If the group enforces single sign-on, sign in there first.";

/** Memberships of a person on GitLab. A member of a group is a member of its subgroups, but not the other way round. */
export class GitLabMemberships {
  constructor(
    private readonly api: ProviderApi,
    private readonly userId: string,
  ) {}

  /** https://docs.gitlab.com/api/group_members/ : `all` includes inherited and invited members; 404 for non-members and invisible groups. */
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
