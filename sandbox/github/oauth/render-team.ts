import type { JsonObject } from "../examples.js";
import { renderOrganization } from "../render/user.js";
import { nodeId, now, type World } from "../world.js";

/** A team as `GET /user/teams` returns it. */
export function renderTeam(world: World, team: string): JsonObject {
  const [org = "", slug = ""] = team.split("/");
  const id = 7000 + [...world.teams.keys()].indexOf(team);
  const url = `${world.apiUrl}/organizations/${world.person(org, "Organization").id}/team/${id}`;
  return {
    id,
    node_id: nodeId("T", id),
    url,
    html_url: `${world.url}/orgs/${org}/teams/${slug}`,
    name: slug,
    slug,
    description: null,
    privacy: "closed",
    notification_setting: "notifications_enabled",
    permission: "pull",
    type: "organization",
    members_url: `${url}/members{/member}`,
    repositories_url: `${url}/repos`,
    parent: null,
    members_count: world.teams.get(team)?.size ?? 0,
    repos_count: 0,
    created_at: now(),
    updated_at: now(),
    organization: organizationWithCounts(world, org),
  };
}

function organizationWithCounts(world: World, org: string): JsonObject {
  return {
    ...renderOrganization(world, world.person(org, "Organization")),
    html_url: `${world.url}/${org}`,
    type: "Organization",
    has_organization_projects: false,
    has_repository_projects: false,
    public_repos: 0,
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: now(),
    updated_at: now(),
    archived_at: null,
  };
}
