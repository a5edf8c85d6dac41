import { exampleMember, rewritten, type JsonObject } from "../examples.js";
import { nodeId, now, type Person, type World } from "../world.js";

/** An account inside other answers ("simple user"). */
export function renderUser(world: World, person: Person): JsonObject {
  const name = encodeURIComponent(person.login);
  const template = exampleMember("pull_request", "opened", "sender");
  return {
    ...rewritten(template, [
      ["https://api.github.com/users/Codertocat", `${world.apiUrl}/users/${name}`],
      ["https://github.com/Codertocat", `${world.url}/${person.type === "Bot" ? `apps/${world.app.slug}` : name}`],
    ]),
    login: person.login,
    id: person.id,
    node_id: nodeId("U", person.id),
    avatar_url: `${world.url}/avatars/u/${person.id}`,
    type: person.type,
    site_admin: false,
  };
}

/** `GET /users/{login}`. */
export function renderPublicUser(world: World, person: Person): JsonObject {
  return {
    ...renderUser(world, person),
    name: null,
    company: null,
    blog: "",
    location: null,
    email: null,
    hireable: null,
    bio: null,
    twitter_username: null,
    public_repos: 0,
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: now(),
    updated_at: now(),
  };
}

export function renderOrganization(world: World, person: Person): JsonObject {
  const url = `${world.apiUrl}/orgs/${person.login}`;
  return {
    login: person.login,
    id: person.id,
    node_id: nodeId("O", person.id),
    url,
    repos_url: `${url}/repos`,
    events_url: `${url}/events`,
    hooks_url: `${url}/hooks`,
    issues_url: `${url}/issues`,
    members_url: `${url}/members{/member}`,
    public_members_url: `${url}/public_members{/member}`,
    avatar_url: `${world.url}/avatars/u/${person.id}`,
    description: null,
  };
}

/** The App in `GET /app` and `performed_via_github_app`. */
export function renderApp(world: World): JsonObject {
  const { id, slug, permissions } = world.app;
  return {
    id,
    slug,
    node_id: nodeId("A", id),
    client_id: `Iv23li${id}`,
    owner: renderUser(world, world.person("app-owner", "Organization")),
    name: slug,
    description: null,
    external_url: "https://example.com",
    html_url: `${world.url}/apps/${slug}`,
    created_at: "2026-01-01T00:00:00Z",
    updated_at: "2026-01-01T00:00:00Z",
    permissions: { ...permissions },
    events: ["issue_comment", "pull_request", "pull_request_review", "push", "merge_group"],
    installations_count: world.installations().length,
  };
}

export function renderInstallation(world: World, id: number, owner: Person): JsonObject {
  const page = owner.type === "Organization" ? `organizations/${owner.login}/settings` : "settings";
  return {
    id,
    account: renderUser(world, owner),
    repository_selection: "all",
    access_tokens_url: `${world.apiUrl}/app/installations/${id}/access_tokens`,
    repositories_url: `${world.apiUrl}/installation/repositories`,
    html_url: `${world.url}/${page}/installations/${id}`,
    app_id: world.app.id,
    app_slug: world.app.slug,
    target_id: owner.id,
    target_type: owner.type,
    permissions: { ...world.app.permissions },
    events: ["issue_comment", "pull_request", "pull_request_review"],
    created_at: "2026-01-01T00:00:00Z",
    updated_at: "2026-01-01T00:00:00Z",
    single_file_name: null,
    suspended_at: null,
    suspended_by: null,
  };
}
