import { randomBytes } from "node:crypto";
import { isObject } from "../examples.js";
import { renderBaseRepository, renderRepository } from "../render/repository.js";
import { renderApp, renderInstallation, renderPublicUser } from "../render/user.js";
import { reaches } from "../tokens.js";
import { ApiError, notFound, page, type Answer, type Call, type Route } from "./call.js";

export const appRoutes: readonly Route[] = [
  { method: "post", template: "/app-manifests/{code}/conversions", caller: "anyone", handle: convertManifest },
  { method: "get", template: "/app", caller: "app", handle: ({ world }) => ({ status: 200, body: renderApp(world) }) },
  {
    method: "get",
    template: "/app/installations",
    caller: "app",
    handle: (call) => {
      const { items, headers } = page(call, call.world.installations());
      return { status: 200, body: items.map(({ id, owner }) => renderInstallation(call.world, id, owner)), headers };
    },
  },
  {
    method: "get",
    template: "/app/hook/deliveries",
    caller: "app",
    handle: listDeliveries,
  },
  {
    method: "get",
    template: "/installation/repositories",
    caller: "installation",
    handle: (call) => {
      const { world, token } = call;
      const reached = [...world.repositories.values()].filter((one) => token !== undefined && reaches(token, one));
      const { items, headers } = page(call, reached);
      const repositories = items.map((one) => renderBaseRepository(world, one));
      return { status: 200, body: { total_count: reached.length, repositories }, headers };
    },
  },
  {
    method: "get",
    template: "/repos/{owner}/{repo}/installation",
    caller: "app",
    handle: ({ world, repository }) => {
      if (!repository.installed) throw notFound();
      const id = world.installationOf(repository.owner);
      return { status: 200, body: renderInstallation(world, id, repository.owner) };
    },
  },
  {
    method: "post",
    template: "/app/installations/{installation_id}/access_tokens",
    caller: "app",
    handle: createToken,
  },
  {
    method: "get",
    template: "/users/{username}",
    caller: "installation",
    handle: ({ world, params }) => ({
      status: 200,
      body: renderPublicUser(world, world.person(params.username ?? "")),
    }),
  },
  {
    method: "get",
    template: "/orgs/{org}/teams/{team_slug}/memberships/{username}",
    caller: "installation",
    handle: getMembership,
  },
];

/** The App of the sandbox, with the permissions and events of the manifest. A code works once. */
function convertManifest({ world, params }: Call): Answer {
  const found = world.registrations.take(params.code ?? "", Date.now());
  if (found === undefined || world.app.privateKey === undefined) throw notFound();
  const {
    name,
    url,
    description = null,
    default_permissions: permissions,
    default_events: events = [],
  } = found.manifest;
  world.app.permissions = permissions as typeof world.app.permissions;
  const body = {
    ...renderApp(world),
    name,
    external_url: url,
    description,
    events,
    client_secret: randomBytes(20).toString("hex"),
    webhook_secret: found.manifest.hook_attributes === undefined ? null : randomBytes(20).toString("hex"),
    pem: world.app.privateKey,
  };
  return { status: 201, body };
}

/** Newest first. */
function listDeliveries(call: Call): Answer {
  const { items, headers } = page(call, [...call.world.delivered].reverse());
  const body = items.map(({ event, id, status }, index) => ({
    id: items.length - index,
    guid: id,
    delivered_at: "2026-11-24T12:00:00Z",
    redelivery: false,
    duration: 0.1,
    status: status === 0 ? "failed to connect to host" : status < 300 ? "OK" : `Invalid HTTP Response: ${status}`,
    status_code: status,
    event,
    action: null,
    installation_id: null,
    repository_id: null,
  }));
  return { status: 200, body, headers };
}

/** Creates a token. It may be narrowed to some repositories and permissions, never widened. */
function createToken({ world, tokens, params, body }: Call): Answer {
  const installation = world.installations().find(({ id }) => String(id) === params.installation_id);
  if (installation === undefined) throw notFound();
  const granted = world.app.permissions;
  const asked = isObject(body.permissions) ? body.permissions : granted;
  for (const [name, level] of Object.entries(asked)) {
    if (granted[name] === level || granted[name] === "write" || name === "metadata") continue;
    throw new ApiError(422, "The permissions requested are not granted to this installation.");
  }
  const names = Array.isArray(body.repositories) ? body.repositories : undefined;
  const ids = Array.isArray(body.repository_ids) ? body.repository_ids : undefined;
  const own = [...world.repositories.values()].filter(
    (repository) => repository.installed && repository.owner === installation.owner,
  );
  const chosen = own.filter(({ name, id }) => names?.includes(name) === true || ids?.includes(id) === true);
  const wanted = (names?.length ?? 0) + (ids?.length ?? 0);
  if (chosen.length < wanted) {
    throw new ApiError(
      422,
      "There is at least one repository that does not exist or is not accessible to the parent installation.",
    );
  }
  const permissions = { metadata: "read", ...asked } as Record<string, string>;
  const narrowed = names !== undefined || ids !== undefined;
  const created = tokens.create({
    owner: installation.owner,
    permissions,
    repositories: narrowed ? new Set(chosen.map(({ id }) => id)) : undefined,
  });
  return {
    status: 201,
    body: {
      token: created.token,
      expires_at: created.expiresAt.toISOString().replace(".000Z", "Z"),
      permissions,
      repository_selection: narrowed ? "selected" : "all",
      ...(narrowed ? { repositories: chosen.map((repository) => renderRepository(world, repository)) } : {}),
    },
  };
}

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
