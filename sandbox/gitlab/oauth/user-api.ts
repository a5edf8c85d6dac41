import express, { type Request, type RequestHandler, type Router } from "express";
import { ApiFailure, serve, type Answer } from "../api/call.js";
import { listGroups, showGroupMember, showCurrentUser as showMe, type Endpoint } from "../api/endpoints.js";
import { showMember, showUser } from "../api/present-user.js";
import type { Instance } from "../model/instance.js";
import type { Person } from "../model/people.js";
import { accessLevels } from "../model/project.js";
import type { Grant } from "./login-instance.js";

/** The REST API for tokens of OAuth logins. Requests with any other token are passed on. */
export function userApi(instance: Instance): Router {
  const router = express.Router();
  const forPerson =
    (scopes: readonly string[], at: Endpoint, work: (grant: Grant, request: Request) => Answer): RequestHandler =>
    async (request, response, next) => {
      const token = /^Bearer ([0-9a-f]{64})$/.exec(request.get("authorization") ?? "")?.[1];
      if (token === undefined) {
        next();
        return;
      }
      const handler = serve(instance, at, () => work(allowed(instance, token, scopes), request));
      await handler(request, response, next);
    };
  router.get(
    showMe.path,
    forPerson(["read_user", "read_api", "api"], showMe, ({ person }) => ({ body: profile(instance, person) })),
  );
  router.get(
    showGroupMember.path,
    forPerson(["read_api", "api"], showGroupMember, (_grant, request) => memberOf(instance, request)),
  );
  router.get(
    listGroups.path,
    forPerson(["read_api", "api"], listGroups, ({ person }, request) => groupsOf(instance, person, request)),
  );
  return router;
}

function allowed({ login }: Instance, token: string, scopes: readonly string[]): Grant {
  const grant = login.grantOf(token);
  if (grant === undefined) throw new ApiFailure(401, "401 Unauthorized");
  if (grant.person.state === "blocked") throw new ApiFailure(403, "403 Forbidden - Your account has been blocked.");
  if (!scopes.some((scope) => grant.scopes.includes(scope))) throw new ApiFailure(403, "insufficient_scope", "error");
  return grant;
}

function profile(instance: Instance, person: Person): object {
  const { email, confirmed, external = false } = instance.login.accountOf(person);
  const created = instance.startedAt.toISOString();
  return {
    ...showUser(instance, person),
    created_at: created,
    bio: "",
    bot: person.bot,
    public_email: null,
    email,
    confirmed_at: confirmed ? created : null,
    external,
    two_factor_enabled: false,
  };
}

/** Members of a group are members of its subgroups. */
function memberOf(instance: Instance, request: Request): Answer {
  const path = String(request.params.id).toLowerCase();
  if (!instance.groups.has(path)) throw new ApiFailure(404, "404 Group Not Found");
  const person = instance.people.withId(Number(request.params.user));
  if (person === undefined || !isMember(instance, path, person)) throw new ApiFailure(404, "404 Not found");
  const level = instance.groupLevels.get(path)?.get(person.id);
  return { body: showMember(instance, person, level ?? accessLevels.write) };
}

/** Without a level, GitLab lists every group that the person may see: here, all groups are public. */
function groupsOf(instance: Instance, person: Person, request: Request): Answer {
  const seen = [...instance.groups.keys()].filter(
    (path) => request.query.min_access_level === undefined || isMember(instance, path, person),
  );
  const perPage = Math.min(Number(request.query.per_page ?? 20), 100);
  const from = (Number(request.query.page ?? 1) - 1) * perPage;
  return { body: seen.slice(from, from + perPage).map((path, index) => ({ id: 300 + from + index, full_path: path })) };
}

function isMember(instance: Instance, path: string, person: Person): boolean {
  const parts = path.split("/");
  const above = parts.map((_part, index) => parts.slice(0, index + 1).join("/"));
  return above.some((group) => instance.groups.get(group)?.has(person) === true);
}
