import { GroupMembers, ProjectMembers } from "@gitbeaker/rest";
import { z } from "zod";
import type { ChangeRequestRef, User } from "../../core/model/change-request.js";
import { ifFound } from "../host-refusal.js";
import { idField } from "../payload-fields.js";
import type { GitLabCall, GitLabClient } from "./client.js";

type Person = Pick<User, "id" | "login">;

const DEVELOPER = 30;
const memberSchema = z.object({ id: idField, state: z.string(), access_level: z.number() });

/** Whether the user has the role Developer or above, directly, inherited or through an invited group. */
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
 * Whether the user is an active member of one of these groups, directly, inherited or through an invited group. GitLab
 * ignores the case of paths. A group that does not exist, or that the token may not see, has no members.
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
  call: GitLabCall,
): Promise<z.output<typeof memberSchema> | undefined> {
  const member = await ifFound(client.read(memberSchema, asked, call));
  return member?.id === person.id && member.state === "active" ? member : undefined;
}
