import { GroupMembers, ProjectMembers } from "@gitbeaker/rest";
import { z } from "zod";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import type { User } from "../../core/model/user.js";
import { HostRefusal } from "../host-refusal.js";
import { decodeAnswer } from "../json-answer.js";
import { idField } from "../payload-fields.js";
import type { GitLabClient, GitLabOptions } from "./client.js";
import { GITLAB } from "./words.js";

type Person = Pick<User, "id" | "login">;

const DEVELOPER = 30;
const memberSchema = z.object({ id: idField, state: z.string(), access_level: z.number() });

/**
 * Whether the person now has the role Developer or above, inherited or through an invited group:
 * https://docs.gitlab.com/api/project_members/
 */
export async function mayWrite(
  client: GitLabClient,
  { repository }: ChangeRequestRef,
  person: Person,
): Promise<boolean> {
  const member = await findActive(client, person, `read ${person.login}'s role in ${repository}`, (gitlab) =>
    new ProjectMembers(gitlab).show(repository, Number(person.id), { includeInherited: true }),
  );
  return member !== undefined && member.access_level >= DEVELOPER;
}

/**
 * Whether the person is an active member of one of these groups, inherited or through an invited group. GitLab compares
 * paths without regard to case. A group that does not exist, or that the token may not see, has no members.
 * https://docs.gitlab.com/api/group_members/
 */
export async function belongsToAnyGroup(
  client: GitLabClient,
  person: Person,
  groups: readonly string[],
): Promise<boolean> {
  for (const group of groups) {
    const member = await findActive(client, person, `look for ${person.login} in the group ${group}`, (gitlab) =>
      new GroupMembers(gitlab).show(group, Number(person.id), { includeInherited: true }),
    );
    if (member !== undefined) return true;
  }
  return false;
}

async function findActive(
  client: GitLabClient,
  person: Person,
  asked: string,
  call: (gitlab: GitLabOptions) => Promise<unknown>,
): Promise<z.output<typeof memberSchema> | undefined> {
  try {
    const member = decodeAnswer(memberSchema, await client.ask(asked, call), GITLAB, asked);
    return member.id === person.id && member.state === "active" ? member : undefined;
  } catch (error) {
    if (error instanceof HostRefusal && error.status === 404) return undefined;
    throw error;
  }
}
