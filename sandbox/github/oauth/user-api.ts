import express, { type Request, type RequestHandler, type Router } from "express";
import { describeOperation, type Operation } from "../description.js";
import type { JsonObject } from "../examples.js";
import { renderOrganization, renderPublicUser, renderUser } from "../render/user.js";
import { errorBody } from "../rest.js";
import type { World } from "../world.js";
import type { Grant } from "./login-world.js";
import { renderTeam } from "./render-team.js";

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface UserRoute {
  /** The path as spelt in GitHub's description. */
  readonly template: string;
  /** One of these scopes is required. */
  readonly scopes: readonly string[];
  answer(world: World, grant: Grant, request: Request): Answer;
}

const routes: readonly UserRoute[] = [
  { template: "/user", scopes: [], answer: showUser },
  { template: "/user/emails", scopes: ["user:email", "user"], answer: listEmails },
  { template: "/user/memberships/orgs/{org}", scopes: ["read:org", "admin:org"], answer: showMembership },
  { template: "/user/teams", scopes: ["read:org", "admin:org", "user"], answer: listTeams },
  {
    template: "/orgs/{org}/teams/{team_slug}/memberships/{username}",
    scopes: ["read:org", "admin:org"],
    answer: showTeamMembership,
  },
];

/** The REST API for tokens of OAuth logins. Requests with any other token are passed on. */
export function userApi(world: World, violated: (what: string) => void): Router {
  const router = express.Router();
  for (const route of routes) {
    const operation = describeOperation("get", route.template);
    if (operation === undefined) throw new Error(`GitHub has no get ${route.template}`);
    router.get(route.template.replace(/\{(\w+)\}/g, ":$1"), serve(world, route, operation, violated));
  }
  return router;
}

function serve(world: World, route: UserRoute, operation: Operation, violated: (what: string) => void): RequestHandler {
  return (request, response, next) => {
    const token = /^Bearer (gho_\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
    if (token === undefined) {
      next();
      return;
    }
    const name = `GET ${route.template}`;
    const { query } = request;
    for (const problem of operation.unknownInRequest(query, undefined)) violated(`${name}: ${problem}`);
    for (const problem of operation.wrongInRequest(query, undefined)) violated(`${name}: request ${problem}`);
    const { status, body, headers = {} } = answerTo(world, route, world.login.grantOf(token), request);
    for (const problem of operation.wrongInAnswer(status, body)) violated(`${name}: answer ${status} ${problem}`);
    response.status(status).set(headers).json(body);
  };
}

function answerTo(world: World, route: UserRoute, grant: Grant | undefined, request: Request): Answer {
  if (grant === undefined) return problem(401, "Bad credentials");
  // Without the scope, the resource seems not to exist.
  const allowed = route.scopes.length === 0 || route.scopes.some((scope) => grant.scopes.includes(scope));
  return allowed ? route.answer(world, grant, request) : problem(404, "Not Found");
}

function showUser(world: World, { person }: Grant): Answer {
  return { status: 200, body: renderPublicUser(world, person) };
}

function listEmails(world: World, { person }: Grant): Answer {
  const emails = world.login.emailsOf(person);
  return { status: 200, body: emails.map((one) => ({ ...one, visibility: one.primary ? "private" : null })) };
}

function showMembership(world: World, { person }: Grant, request: Request): Answer {
  const name = String(request.params.org);
  const closed = closedTo(world, name);
  if (closed !== undefined) return closed;
  const state = world.login.organization(name)?.members.get(person.login.toLowerCase());
  if (state === undefined) return problem(404, "Not Found");
  const organization = world.person(name, "Organization");
  const url = `${world.apiUrl}/orgs/${name}`;
  const body = {
    url: `${url}/memberships/${person.login}`,
    state,
    role: "member",
    organization_url: url,
    user: renderUser(world, person),
    organization: renderOrganization(world, organization),
  };
  return { status: 200, body };
}

function showTeamMembership(world: World, _grant: Grant, request: Request): Answer {
  const { org, team_slug: slug, username } = request.params;
  const closed = closedTo(world, String(org));
  if (closed !== undefined) return closed;
  const members = world.teams.get(`${String(org)}/${String(slug)}`.toLowerCase());
  if (members?.has(world.person(String(username))) !== true) return problem(404, "Not Found");
  const url = `${world.apiUrl}/organizations/${world.person(String(org), "Organization").id}/team/1/memberships/${String(username)}`;
  return { status: 200, body: { url, role: "member", state: "active" } };
}

function listTeams(world: World, { person }: Grant, request: Request): Answer {
  const mine = [...world.teams].filter(([team, members]) => {
    const [org = ""] = team.split("/");
    return members.has(person) && (world.login.organization(org)?.policy ?? "open") === "open";
  });
  const perPage = Math.min(Number(request.query.per_page ?? 30), 100);
  const from = (Number(request.query.page ?? 1) - 1) * perPage;
  return { status: 200, body: mine.slice(from, from + perPage).map(([team]) => renderTeam(world, team)) };
}

/** The refusal of an organization that does not admit the application. */
function closedTo(world: World, name: string): Answer | undefined {
  switch (world.login.organization(name)?.policy ?? "open") {
    case "open":
      return undefined;
    case "hidden":
      return problem(404, "Not Found");
    case "restricted":
      return problem(
        403,
        `Although you appear to have the correct authorization credentials, the \`${name}\` organization has enabled OAuth App access restrictions, meaning that data access to third-parties is limited.`,
      );
    case "sso": {
      const url = `${world.url}/orgs/${name}/sso?authorization_request=SANDBOX`;
      const text = "Resource protected by organization SAML enforcement. You must grant your OAuth token access.";
      return { ...problem(403, text), headers: { "X-GitHub-SSO": `required; url=${url}` } };
    }
  }
}

function problem(status: number, message: string): Answer {
  const body: JsonObject = errorBody(status, message);
  return { status, body };
}
