import { z } from "zod";
import type { User } from "../../core/model/user.js";
import { HostRefusal } from "../host-refusal.js";
import { decodeAnswer } from "../json-answer.js";
import { idField } from "../payload-fields.js";
import type { GitLabClient } from "./client.js";
import { GITLAB } from "./words.js";

const memberSchema = z.object({ id: idField, state: z.string() });

/**
 * Whether the person is an active member of one of these groups, inherited and invited members included. Paths are
 * compared by GitLab, which ignores case. A group that does not exist, or that the token may not see, has no members.
 * https://docs.gitlab.com/api/group_members/
 */
export async function belongsToAnyGroup(client: GitLabClient, user: User, groups: readonly string[]): Promise<boolean> {
  for (const group of groups) {
    if (await isMember(client, user, group)) return true;
  }
  return false;
}

async function isMember(client: GitLabClient, user: User, group: string): Promise<boolean> {
  const asked = `look for ${user.login} in the group ${group}`;
  try {
    const data = await client.ask(asked, (api) =>
      api.groupMembers.show(group, Number(user.id), { includeInherited: true }),
    );
    const member = decodeAnswer(memberSchema, data, GITLAB, asked);
    return member.id === user.id && member.state === "active";
  } catch (error) {
    if (error instanceof HostRefusal && error.status === 404) return false;
    throw error;
  }
}
