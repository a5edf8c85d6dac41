import { GroupMembers, ProjectMembers, Projects } from "@gitbeaker/rest";
import * as z from "zod";
import type { ChangeRequestRef, User } from "../../core/model/change-request.js";
import type { Visitor } from "../../core/ports/code-host.js";
import { idField, ifFound } from "../host-answer.js";
import type { GitLabClient, GitLabCall } from "./client.js";

type Person = Pick<User, "id" | "login">;

/** The lowest level of a member. Below it is Minimal Access, which single sign-on may give everybody: https://docs.gitlab.com/user/permissions/#users-with-minimal-access */
const GUEST = 10;
const REPORTER = 20;
const DEVELOPER = 30;
/** GitLab's free edition knows no memberships that await an approval, and does not tell `membership_state`. */
const memberSchema = z.object({
  id: idField,
  state: z.string(),
  membership_state: z.string().nullish(),
  access_level: z.number(),
});

/** Whether the user has the role Developer or above, directly, inherited or through an invited group. */
export async function mayWrite(
  client: GitLabClient,
  { repository }: ChangeRequestRef,
  person: Person,
): Promise<boolean> {
  return (await roleIn(client, repository, person)) >= DEVELOPER;
}

const projectSchema = z.object({
  visibility: z.string(),
  repository_access_level: z.string().nullish(),
  merge_requests_access_level: z.string().nullish(),
});

/**
 * Whether the user can read the project's files and merge requests: by its visibility, or with the role Reporter or above.
 * Guests and Planners of a private project see no code: https://docs.gitlab.com/user/permissions/#repository
 */
export async function mayRead(
  client: GitLabClient,
  { repository }: ChangeRequestRef,
  person: Visitor,
): Promise<boolean> {
  const project = await ifFound(
    client.read(projectSchema, `read the visibility of ${repository}`, (gitlab) =>
      new Projects(gitlab).show(repository),
    ),
  );
  if (project === undefined) return false;
  const { visibility, repository_access_level: code, merge_requests_access_level: changes } = project;
  // A part of a public project can be for its members alone: https://docs.gitlab.com/user/public_access/
  const isOpen = code === "enabled" && changes === "enabled";
  if (isOpen && (visibility === "public" || (visibility === "internal" && !person.external))) return true;
  return (await roleIn(client, repository, person)) >= REPORTER;
}

/** The access level of an active member; 0 for everybody else. */
async function roleIn(client: GitLabClient, repository: string, person: Person): Promise<number> {
  const member = await findActive(client, person, `read ${person.login}'s role in ${repository}`, (gitlab) =>
    new ProjectMembers(gitlab).show(repository, Number(person.id), { includeInherited: true }),
  );
  return member?.access_level ?? 0;
}

/**
 * Whether the user is an active member of one of these groups, directly, inherited or through an invited group, as Guest or above.
 * GitLab also lists people with Minimal Access, who see nothing in the group. It ignores the case of paths. A group that does not
 * exist, or that the token may not see, has no members.
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
    if (member !== undefined && member.access_level >= GUEST) return true;
  }
  return false;
}

/**
 * The membership of somebody whose account is not blocked. GitLab lists members whom an owner has yet to approve with the role that
 * they will have (`MembersFinder`), and grants them nothing:
 * https://gitlab.com/gitlab-org/gitlab/-/blob/master/lib/gitlab/project_authorizations.rb
 */
async function findActive(
  client: GitLabClient,
  person: Person,
  asked: string,
  call: GitLabCall,
): Promise<z.output<typeof memberSchema> | undefined> {
  const member = await ifFound(client.read(memberSchema, asked, call));
  if (member?.id !== person.id || member.state !== "active") return undefined;
  return (member.membership_state ?? "active") === "active" ? member : undefined;
}

/** Whether an account is a program's. @throws {HostFailure} if GitLab does not tell. */
export type IsProgram = (person: Person) => Promise<boolean>;
