import { describe, expect, test } from "@jest/globals";
import { NOTIFICATION_EVENTS } from "../../src/config/server/server-schema.js";
import { loadServerConfig } from "../../src/config/server/server.js";
import { describeProblem } from "../../src/config/yaml-tree.js";
import { rsaKey } from "./rsa-key.js";
import { configOf, problemsOf, SMALLEST, withKey } from "./server-file.js";

const KEY = rsaKey();
const HASH = `sha256:${"0".repeat(64)}`;
const TOKEN = `svc_api_${"x".repeat(43)}`;
const SIGNING_TOKEN = `whsec_${Buffer.alloc(24).toString("base64")}`;

describe("what is required", () => {
  test.each([
    ["", ["argocd: is required: a section with server_url, ui_url, token", "at least one host is needed"]],
    ["hostb: {token: t, webhook_secret: hook-secret-of-tests}", ["deployer: is required"]],
    ["deployer: {server_url: http://a, token: t}", ["svc.yaml:1:1 at least one host is needed"]],
    [
      "deployer:\nhostb:",
      ["deployer.server_url: is", "deployer.token: is", "hostb.token: is", "hostb.webhook_secret: is"],
    ],
    [
      "deployer: {server_url: http://a, token: t}\nhostb: {token: t, webhook_secret: ''}",
      ["2:35 hostb.webhook_secret: expected"],
    ],
    ["deployer: {server_url: http://a, token: t}\nhostb: {token: t}", ["2:1 hostb.webhook_secret: is required: text"]],
    [`deployer: {server_url: http://a, token: t}\nhostb: {token: t, signing_token: ${SIGNING_TOKEN}}`, []],
    ["deployer: {server_url: http://a, token: t}\nhostb: {token: t, poll: 15s}", []],
    [
      "deployer: {server_url: http://a, token: t}\nhostb: {token: t, poll: off}",
      ["hostb.webhook_secret: is required: text, unless gitlab.signing_token or gitlab.poll is set"],
    ],
    ["deployer: {server_url: http://a, token: t}\nhosta: {app_id: 1, poll: 15s}", ["hosta.private_key: is required"]],
    [
      'deployer: {server_url: http://a, token: t}\nhosta: {app_id: 1, poll: "off"}',
      ["hosta.private_key: is required", "hosta.webhook_secret: is required: text, unless github.poll is set"],
    ],
    [
      "deployer: {server_url: http://a, token: t}\nhosta: {}",
      ["hosta.app_id: is required", "hosta.private_key: is required", "hosta.webhook_secret: is required"],
    ],
    [`${SMALLEST}auth: {enabled: true}`, ["4:1 auth.session_secret: is required when auth.enabled is true"]],
    [`${SMALLEST}auth: {enabled: true, session_secret: ''}`, ["auth.session_secret: expected text"]],
    [
      `${SMALLEST}auth: {api_tokens: [{name: ci, hash: "${HASH}", role: user}, {name: ci, hash: "${HASH}", role: user}]}`,
      [
        "auth.api_tokens[1].name: another token has the same name",
        "auth.api_tokens[1].hash: another token has the same",
      ],
    ],
    [
      `${SMALLEST}auth: {api_tokens: [{name: ci, hash: ${TOKEN}, role: user}, {name: a b, hash: sha256:1, role: user}]}`,
      [
        "auth.api_tokens[0].hash: this is a token: write its hash",
        "auth.api_tokens[1].name: expected 1 to 63 letters",
        "auth.api_tokens[1].hash: expected the hash that `svc token` prints",
      ],
    ],
    [`${SMALLEST}kvstore: {address: "h:1", cluster: {addresses: ["h:1"]}}`, ["kvstore.cluster: only one of address,"]],
    [`${SMALLEST}kvstore: {cluster: {addresses: ["h:1"]}, db: 2}`, ["kvstore.db: leave it out with redis.cluster"]],
    [withKey("hosta.api_url", '"https://gh.example.org/api/v3"'), ["hosta.private_key", "hosta.web_url: is required"]],
    [withKey("hosta.web_url", '"https://gh.example.org"'), ["hosta.private_key", "hosta.api_url: is required"]],
  ])("%j", (text, expected) => {
    const problems = problemsOf(text);
    expect(problems).toHaveLength(expected.length);
    for (const part of expected) expect(problems.join("\n")).toContain(part);
  });

  test("auth.enabled from a variable asks for the session secret too", () => {
    const text = `${SMALLEST}auth: {enabled: "\${ON}"}`;
    expect(problemsOf(text, { ON: "true" }).join()).toContain("auth.session_secret: is required");
    expect(problemsOf(text, { ON: "false" })).toEqual([]);
  });

  test("nothing is asked of sections that are not there", () => {
    expect(problemsOf(SMALLEST)).toEqual([]);
  });

  test("sections that are written down but empty are read as such", () => {
    expect(configOf([`${SMALLEST}server:\ndefaults:\nauth:\nkvstore:\n`]).server.port).toBe(4141);
  });
});

describe("notifications", () => {
  const chat = "name: a, url: https://chat.example.org/x?sig=hunter2";
  test.each([
    ["{name: a, url: https://a.example.org/x, format: json}", ["secret: is required with `format: json`"]],
    [`{${chat}, format: slack, secret: ${SIGNING_TOKEN}}`, ["secret: leave it out with `format: slack`"]],
    [`{${chat}, format: slack}, {${chat}, format: teams}`, ["notifications[1].name: another receiver has this name"]],
    ["{name: a, url: https://a.example.org/x, format: json, secret: hunter2}", ["expected a signing secret"]],
    ["{name: A_b, url: https://u:hunter2@a.example.org, format: xml}", ["[0].name: e", "[0].url: e", "[0].format: e"]],
    [`{${chat}, format: teams, events: []}`, ["at least one event is needed"]],
    [`{${chat}, format: teams}, {name: b, url: http://b, format: json, secret: ${SIGNING_TOKEN}}`, []],
  ])("%s", (receivers, expected) => {
    const problems = problemsOf(`${SMALLEST}notifications: [${receivers}]\n`);
    expect(problems).toHaveLength(expected.length);
    for (const part of expected) expect(problems.join("\n")).toContain(part);
    expect(problems.join()).not.toContain("hunter2");
  });

  test("a receiver without `events` is told of everything", () => {
    const [receiver] = configOf([`${SMALLEST}notifications: [{${chat}, format: teams}]\n`]).notifications;
    expect(receiver?.events).toEqual([...NOTIFICATION_EVENTS]);
  });
});

describe("secrets under 16 characters", () => {
  const server = (text: string) => `server: {${text}}\n`;
  const short = "deployer: {server_url: http://a, token: t}\nhostb: {token: t, webhook_secret: fifteen-letters}\n";
  const refused = /hostb\.webhook_secret: has fewer than 16 characters and could be guessed; use 32 random bytes/;

  test.each([
    "",
    server("host: 0.0.0.0"),
    server('host: "::"'),
    server("host: svc.internal"),
    server("host: localhost.example.org"),
    server("host: 127.0.0.1.example.org"),
    server("base_url: http://localhost:4141"),
    server("host: 127.0.0.1, base_url: https://svc.example.org"),
    server("host: localhost, base_url: https://127.0.0.1.example.org"),
    server("host: localhost, base_url: https://localhost@example.org"),
  ])("are refused with %j", (text) => {
    expect(problemsOf(short + text).join("\n")).toMatch(refused);
  });

  test.each([
    server("host: 127.0.0.1"),
    server("host: localhost, base_url: http://127.8.0.1:4141"),
    server('host: "::1", base_url: "http://[::1]:4141"'),
    server('host: "${HOST}"'),
  ])("are accepted on this machine alone, with %j", (text) => {
    expect(problemsOf(short + text, { HOST: "127.0.0.1" })).toEqual([]);
  });

  test("every one of them is named, also from a variable, and never shown", () => {
    const text = `deployer: {server_url: http://a, token: t}
hosta: {app_id: 1, private_key: "\${KEY}", webhook_secret: "\${SHORT}"}
hostb: {token: t, webhook_secret: hunter2}
auth: {enabled: true, session_secret: "\${SHORT}"}`;
    const problems = problemsOf(text, { KEY: rsaKey(), SHORT: "hunter2" });
    const named = ["hosta.webhook_secret", "hostb.webhook_secret", "auth.session_secret"];
    expect(problems.map((line) => /(\S+): has fewer than 16/.exec(line)?.[1])).toEqual(named);
    expect(problems.join()).not.toContain("hunter2");
  });

  test("a session secret is not asked for its length while login is off", () => {
    expect(problemsOf(`${SMALLEST}auth: {session_secret: short}`)).toEqual([]);
  });
});

describe("warnings", () => {
  const warningsOf = (auth: string) => {
    const text = `${SMALLEST}auth:\n  enabled: true\n  session_secret: ${"a".repeat(32)}\n${auth}`;
    const result = loadServerConfig([{ name: "svc.yaml", text }], {});
    return result.kind === "valid" ? result.warnings : result.problems.map(describeProblem);
  };
  const client = "client_id: i, client_secret: s";
  const baseUrl = "server: {base_url: 'https://svc.example.org'}";

  test.each([
    [`  hosta: {${client}}`, ["auth.github: everyone"]],
    [`  hosta: {${client}, allowed_orgs: [acme]}`, []],
    [`  hosta: {${client}, allowed_teams: [acme/platform]}`, []],
    [`  hostb: {${client}}`, ["auth.gitlab: everyone"]],
    [`  hostb: {${client}, allowed_groups: [acme]}`, []],
    [`  oidc: {name: n, issuer_url: http://i, ${client}}`, ["auth.oidc: everyone"]],
    [`  oidc: {name: n, issuer_url: http://i, ${client}, allowed_domains: [a.org]}`, []],
    ["  basic: {users: [{username: u, password: p, role: admin}]}", ["auth.basic: users"]],
    ["", ["no provider is configured"]],
  ])("%s", (auth, expected) => {
    const warnings = warningsOf(`${auth}\n${baseUrl}`);
    expect(warnings).toHaveLength(expected.length);
    for (const part of expected) expect(warnings.join()).toContain(part);
  });

  test("a missing base_url and a short session secret", () => {
    expect(warningsOf(`  hosta: {${client}, allowed_orgs: [acme]}`)).toEqual([
      expect.stringContaining("server.base_url"),
    ]);
    const result = loadServerConfig(
      [{ name: "a", text: `${SMALLEST}auth: {enabled: true, session_secret: sixteen-letters-, basic: {users: []}}` }],
      {},
    );
    expect(result.kind === "valid" && result.warnings.join()).toContain("shorter than 32");
  });

  test("a base_url below a path", () => {
    const providers = `  hosta: {${client}, allowed_orgs: [acme]}`;
    expect(warningsOf(`${providers}\nserver: {base_url: 'https://example.org/svc/'}`)).toEqual([
      expect.stringContaining("server.base_url has a path"),
    ]);
    expect(warningsOf(`${providers}\nserver: {base_url: 'https://svc.example.org/'}`)).toEqual([]);
    const open = loadServerConfig(
      [{ name: "a", text: `${SMALLEST}server: {base_url: 'https://example.org/svc'}` }],
      {},
    );
    expect(open.kind === "valid" && open.warnings).toEqual([expect.stringContaining("server.base_url has a path")]);
  });

  test("none with login off", () => {
    const result = loadServerConfig([{ name: "a", text: `${SMALLEST}auth: {hosta: {${client}}}` }], {});
    expect(result.kind === "valid" && result.warnings).toEqual([]);
  });
});

test.each(["release/*", "release/?", "re lease", "release\\\\1"])("no branch is protected by %s", (name) => {
  expect(problemsOf(`${SMALLEST}defaults: {protected_branches: [main, "${name}"]}`)).toEqual([
    expect.stringContaining(
      "defaults.protected_branches[1]: no branch can have this name, and patterns mean nothing here",
    ),
  ]);
});

describe("names of repositories while both hosts are configured", () => {
  const both = (rest: string) =>
    `${SMALLEST}\nhosta: {app_id: 1, private_key: "\${KEY}", webhook_secret: hook-secret-of-tests}\n${rest}`;
  const entry = (name: string) => `application_repositories: [{application: a, repositories: ["github:a/b", ${name}]}]`;

  test.each(["acme/deploy", "'*'", "acme/*", '"${NAME}"'])("a right of %s is refused without its host", (name) => {
    expect(problemsOf(both(entry(name)), { KEY, NAME: "acme/deploy" })).toEqual([
      expect.stringContaining(
        "application_repositories[0].repositories[1]: both hosts may have a repository of this name: write `github:<org>/<repo>`, `gitlab:<org>/<repo>` or the repository's address",
      ),
    ]);
    expect(problemsOf(`${SMALLEST}\n${entry(name)}`, { NAME: "acme/deploy" })).toEqual([]);
  });

  test.each(["gitlab:acme/deploy", "hosta:acme/*", "https://gitlab.com/acme/deploy", "git@github.com:acme/deploy.git"])(
    "%s means one",
    (name) => expect(problemsOf(both(entry(name)), { KEY })).toEqual([]),
  );

  test.each(["allowed_users: [ana]", "allowed_teams: [acme/ops]", "allowed_users: ['github:bo', ana]"])(
    "who may deploy is refused without a host: %s",
    (list) => {
      const text = (lists: string) => `sync_requirements: [{name: web, ${lists}}]`;
      expect(problemsOf(both(text(list)), { KEY }).join()).toContain(
        "on either host somebody may have this name: write",
      );
      expect(problemsOf(`${SMALLEST}\n${text(list)}`)).toEqual([]);
      expect(problemsOf(both(text("allowed_users: ['gitlab:ana']")), { KEY })).toEqual([]);
    },
  );

  test("who may lift a failed check is refused without a host", () => {
    const text = (team: string) => `checks: [{name: a, command: [a], overridable_by: ['github:a/b', '${team}']}]`;
    expect(problemsOf(both(text("acme/platform")), { KEY })).toEqual([
      expect.stringContaining("checks[0].overridable_by[1]: on either host somebody may have this name: write"),
    ]);
    expect(problemsOf(both(text("gitlab:acme/platform")), { KEY })).toEqual([]);
    expect(problemsOf(`${SMALLEST}\n${text("acme/platform")}`)).toEqual([]);
  });

  test("allowed_repos without a host means both, and a warning names each", () => {
    const text = both("defaults: {allowed_repos: [acme/*, 'github:acme/*']}");
    const result = loadServerConfig([{ name: "svc.yaml", text }], { KEY });
    expect(result.kind === "valid" && result.warnings).toEqual([
      "defaults.allowed_repos[0]: means repositories of GitHub and of GitLab; to mean one, write github:acme/* or gitlab:acme/*",
    ]);
  });

  test("who may introduce applications into a project is refused without a host", () => {
    const projects = "projects: {payments: {repositories: ['github:a/b', acme/deploy]}}";
    expect(problemsOf(both(projects), { KEY })).toEqual([
      expect.stringContaining("projects.payments.repositories[1]: both hosts may have a repository of this name"),
    ]);
    expect(problemsOf(`${SMALLEST}\n${projects}`)).toEqual([]);
  });

  test.each([
    ["projects: {Payments: {repositories: []}}", /projects\.Payments: is not the name of an AppProject/],
    ["projects: {a_b: {repositories: []}}", /projects\.a_b: is not the name of an AppProject/],
    ["projects: {payments: {}}", /projects\.payments\.repositories: is required/],
    [
      "projects: {payments: {repository: ['github:a/b']}}",
      /projects\.payments\.repository: unknown key; did you mean `repositories`/,
    ],
    ["projects: {payments: {repositories: [deploy]}}", /projects\.payments\.repositories\[0\]: expected a repository/],
    ["projects: [payments]", /projects: expected a section with a key for each AppProject; found a list/],
  ])("%s is refused", (text, problem) => {
    expect(problemsOf(`${SMALLEST}\n${text}`).join("\n")).toMatch(problem);
  });

  test("a host that is not configured is pointed out", () => {
    const text = `${SMALLEST}\n${entry("gitlab:c/d")}`;
    const result = loadServerConfig([{ name: "svc.yaml", text }], {});
    expect(result.kind === "valid" && result.warnings).toEqual([
      "application_repositories[0].repositories[0]: GitHub is not configured, so it names nothing",
    ]);
    const project = `${SMALLEST}\nprojects: {payments: {repositories: ['github:a/b']}}`;
    const other = loadServerConfig([{ name: "svc.yaml", text: project }], {});
    expect(other.kind === "valid" && other.warnings).toEqual([
      "projects.payments.repositories[0]: GitHub is not configured, so it names nothing",
    ]);
    const people =
      "sync_requirements: [{name: web, allowed_users: [ana, 'github:ana'], allowed_teams: ['github:a/ops']}]";
    const list = loadServerConfig([{ name: "svc.yaml", text: `${SMALLEST}\n${people}` }], {});
    expect(list.kind === "valid" && list.warnings).toEqual([
      "sync_requirements[0].allowed_users[1]: GitHub is not configured, so it names nothing",
      "sync_requirements[0].allowed_teams[0]: GitHub is not configured, so it names nothing",
    ]);
    const receiver = "{name: ops, url: 'https://chat.example.org/x', format: slack, repositories: ['github:a/*', a/*]}";
    const told = loadServerConfig([{ name: "svc.yaml", text: `${SMALLEST}\nnotifications: [${receiver}]` }], {});
    expect(told.kind === "valid" && told.warnings).toEqual([
      "notifications[0].repositories[0]: GitHub is not configured, so it names nothing",
    ]);
  });

  test("a receiver of notifications may mean the repositories of both hosts by one name", () => {
    const receiver = "{name: ops, url: 'https://chat.example.org/x', format: slack, repositories: [a/*]}";
    const result = loadServerConfig([{ name: "svc.yaml", text: both(`notifications: [${receiver}]`) }], { KEY });
    expect(result.kind === "valid" && result.warnings).toEqual([]);
  });
});
