import * as z from "zod";
import type { ChangeRequestRef, User } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import { HostRefusal } from "../host-refusal.js";
import type { GitHubClient } from "./client.js";

const membershipSchema = z.object({ state: z.string() });

/**
 * Whether the user is an active member of one of these teams or their child teams. GitHub compares names and ignores
 * case. A team that does not exist, or that the App may not see, has no members.
 * @throws {HostFailure} `forbidden` if the App lacks "Organization members: read"; `rejected` for an invalid team name.
 */
export async function belongsToAnyTeam(
  client: GitHubClient,
  change: ChangeRequestRef,
  user: User,
  teams: readonly string[],
): Promise<boolean> {
  for (const team of teams) {
    if (await isMember(client, change, user, team)) return true;
  }
  return false;
}

async function isMember(client: GitHubClient, change: ChangeRequestRef, user: User, team: string): Promise<boolean> {
  const [, org, slug] = /^([A-Za-z0-9-]+)\/([A-Za-z0-9_-]+)$/.exec(team) ?? [];
  if (org === undefined || slug === undefined) {
    throw new HostFailure("rejected", `GitHub has no team of the name "${team}": write <organization>/<team-slug>.`);
  }
  const asked = `look for ${user.login} in the team ${org}/${slug}`;
  try {
    const { state } = await client.read(membershipSchema, change.repository, asked, (octokit) =>
      octokit.rest.teams.getMembershipForUserInOrg({ org, team_slug: slug, username: user.login }),
    );
    return state === "active";
  } catch (error) {
    if (!(error instanceof HostRefusal)) throw error;
    if (error.status === 404) return false;
    if (error.reason !== "forbidden") throw error;
    throw new HostFailure(
      "forbidden",
      `GitHub does not allow us to ${asked} (403): the App needs the permission "Organization members: read" (see app.yml), and its installation on ${org} has to accept it.`,
      { cause: error },
    );
  }
}
