import { ApiError, notFound, type Answer, type Call, type Route } from "./call.js";

export const teamRoutes: readonly Route[] = [
  {
    method: "get",
    template: "/orgs/{org}/teams/{team_slug}/memberships/{username}",
    caller: "installation",
    handle: getMembership,
  },
];

/** The App sees nothing of organizations that it is not installed on. */
function getMembership({ world, token, params }: Call): Answer {
  const { org = "", team_slug: slug = "", username = "" } = params;
  if (token?.owner.login.toLowerCase() !== org.toLowerCase()) throw notFound();
  if (token.permissions.members === undefined) throw new ApiError(403, "Resource not accessible by integration");
  const members = world.teams.get(`${org}/${slug}`.toLowerCase());
  if (members?.has(world.person(username)) !== true) throw notFound();
  const url = `${world.apiUrl}/organizations/${token.owner.id}/team/${slug}/memberships/${username}`;
  return { status: 200, body: { url, role: "member", state: "active" } };
}
