import { z } from "zod";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import type { User } from "../../core/model/user.js";
import { HostRefusal } from "../host-refusal.js";
import { decodeAnswer } from "../json-answer.js";
import { idField } from "../payload-fields.js";
import type { GitLabClient } from "./client.js";
import { GITLAB } from "./words.js";

const DEVELOPER = 30;
const memberSchema = z.object({ id: idField, state: z.string(), access_level: z.number() });

/**
 * Whether somebody has the role Developer or above now, inherited and invited members included:
 * https://docs.gitlab.com/api/project_members/
 */
export async function mayWrite(
  client: GitLabClient,
  change: ChangeRequestRef,
  user: Pick<User, "id" | "login">,
): Promise<boolean> {
  const asked = `read ${user.login}'s role in ${change.repository}`;
  try {
    const data = await client.ask(asked, (api) =>
      api.projectMembers.show(change.repository, Number(user.id), { includeInherited: true }),
    );
    const member = decodeAnswer(memberSchema, data, GITLAB, asked);
    return member.id === user.id && member.state === "active" && member.access_level >= DEVELOPER;
  } catch (error) {
    if (error instanceof HostRefusal && error.status === 404) return false;
    throw error;
  }
}
