import { describe, expect, test } from "@jest/globals";
import { problemsOf, withKey } from "./server-file.js";

const json = (value: unknown) => JSON.stringify(value);
const flags = [
  "server.trust_proxy",
  "kvstore.tls",
  "deployer.insecure",
  "hostb.commit_status",
  "hostb.environments",
  "defaults.autoplan",
  "defaults.require_approval",
  "defaults.require_up_to_date",
  "defaults.require_healthy",
  "defaults.auto_merge",
  "defaults.skip_no_changes",
  "defaults.delete_source_branch",
  "defaults.prune",
  "defaults.plan_drafts",
  "defaults.allow_forks",
  "auth.enabled",
  "auth.cookie_secure",
  "auth.oidc.require_verified_email",
];
const texts = [
  "server.host",
  "server.data_dir",
  "kvstore.username",
  "kvstore.sentinel.master",
  "auth.role_assignments[].pattern",
  "auth.hosta.client_id",
  "auth.hostb.client_id",
  "auth.oidc.name",
  "auth.oidc.client_id",
  "auth.oidc.username_claim",
  "auth.oidc.email_claim",
  "auth.oidc.groups_claim",
  "auth.basic.users[].username",
];
const secrets = [
  "kvstore.password",
  "kvstore.sentinel.password",
  "deployer.token",
  "hostb.token",
  "hostb.webhook_secret",
  "auth.session_secret",
  "auth.hosta.client_secret",
  "auth.hostb.client_secret",
  "auth.oidc.client_secret",
  "auth.basic.users[].password",
];
const numbers = [
  ["server.port", 65_535],
  ["server.concurrency", 1000],
  ["server.metrics_port", 65_535],
  ["kvstore.db", 65_535],
  ["deployer.render_concurrency", 1000],
  ["deployer.preview_limit", 10_000],
] as const;
const durations = [
  "server.shutdown_grace",
  "deployer.render_timeout",
  "deployer.sync_timeout",
  "deployer.request_timeout",
  "deployer.poll_interval",
  "defaults.health_timeout",
  "auth.session_ttl",
];
const urls = [
  "server.base_url",
  "deployer.server_url",
  "deployer.ui_url",
  "hostb.url",
  "auth.hostb.url",
  "auth.oidc.issuer_url",
];
const choices = [
  ["server.log_level", "debug, info, warn, error"],
  ["deployer.diff_mode", "branch, live, both"],
  ["deployer.temporary_apps", "auto, always"],
  ["defaults.on_failure", "keep, rollback"],
  ["defaults.merge_method", "squash, merge, rebase"],
  ["defaults.command_access", "write, anyone"],
  ["auth.diffs", "readers, all"],
  ["auth.default_role", "admin, user"],
  ["auth.role_assignments[].provider", "github, gitlab, oidc, hosta, hostb"],
  ["auth.role_assignments[].role", "admin, user"],
  ["auth.basic.users[].role", "admin, user"],
] as const;
const lists = [
  ["hostb.aliases", "git.example.org"],
  ["defaults.allowed_repos", "acme/deploy"],
  ["defaults.allowed_repos", "gitlab:acme/sub/*"],
  ["defaults.allowed_repos", "**"],
  ["notifications[].repositories", "github:**"],
  ["defaults.allowed_bots", "renovate[bot]"],
  ["defaults.protected_branches", "release"],
  ["defaults.protected_branches", "release/1.{x}-rc@2"],
  ["auth.hosta.allowed_orgs", "acme"],
  ["auth.hosta.allowed_teams", "acme/platform"],
  ["auth.hostb.allowed_groups", "acme/sub"],
  ["auth.oidc.scopes", "openid"],
  ["auth.oidc.allowed_domains", "example.org"],
  ["application_repositories[].repositories", "acme/*"],
  ["application_repositories[].repositories", "github:acme/*"],
  ["application_repositories[].repositories", "https://git.example.org/acme/deploy.git"],
  ["application_repositories[].repositories", "git@git.example.org:acme/deploy"],
  ["application_repositories[].repositories", "ssh://git@git.example.org:2222/acme/deploy"],
  ["checks[].command", "/bin/check"],
  ["checks[].overridable_by", "acme/platform"],
  ["redact", "token-[0-9a-f]+"],
  ["notifications[].events", "not_merged"],
  ["notifications[].repositories", "acme/*"],
  ["notifications[].repositories", "github:acme/*"],
  ["notifications[].applications", "team-*"],
  ["kvstore.sentinel.addresses", "a:1"],
  ["kvstore.cluster.addresses", "a:1"],
] as const;

const shown = (path: string) => path.replaceAll("[]", "[0]");

describe.each(flags)("%s", (path) => {
  test.each(["true", "false"])("takes %s, also from a variable", (value) => {
    const env = { V: value, T: "x".repeat(32) };
    const text = (written: string) =>
      withKey(path, written).replace(
        '"auth":{',
        path === "auth.enabled" ? '"auth":{"session_secret":"${T}",' : '"auth":{',
      );
    expect(problemsOf(text(value), env)).toEqual([]);
    expect(problemsOf(text('"${V}"'), env)).toEqual([]);
  });
  test.each(["yes", "1", '"true"', "[]", "{}", "null"])("refuses %s", (value) => {
    expect(problemsOf(withKey(path, value))).toContainEqual(
      expect.stringMatching(`^svc\\.yaml:1:\\d+ ${path.replaceAll(".", "\\.")}: expected true or false; found`),
    );
  });
  test("refuses another text from a variable", () => {
    expect(problemsOf(withKey(path, '"${V}"'), { V: "yes" }).join()).toContain(`${path}: expected true or false`);
  });
});

describe.each(texts)("%s", (path) => {
  test.each(["12", "true", '""', '"  "', "[]", "null"])("refuses %s", (value) => {
    expect(problemsOf(withKey(path, value)).join()).toContain(`${shown(path)}: expected text that is not empty`);
  });
  test("takes text", () => expect(problemsOf(withKey(path, '"abc"'))).toEqual([]));
  test("takes a number from a variable as text", () => {
    expect(problemsOf(withKey(path, '"${V}"'), { V: "12" })).toEqual([]);
  });
});

describe("auth.cookie_domain", () => {
  test.each(["https://svc.example.org", "svc.example.org:8443", "*.example.org", "a b", "", "example.org/"])(
    "refuses %s, with which no cookie can be sent",
    (value) => {
      expect(problemsOf(withKey("auth.cookie_domain", json(value))).join()).toContain(
        "auth.cookie_domain: expected auto, or a domain",
      );
    },
  );
  test.each(["auto", "svc.example.org", ".example.org", "localhost"])("takes %s", (value) => {
    expect(problemsOf(withKey("auth.cookie_domain", json(value)))).toEqual([]);
  });
});

test.each([
  "kvstore.username",
  "kvstore.sentinel.master",
  "auth.hosta.client_id",
  "auth.hostb.client_id",
  "auth.oidc.client_id",
])("%s refuses the line break that a variable from a file may end with", (path) => {
  expect(problemsOf(withKey(path, '"${V}"'), { V: "abc\n" }).join()).toContain(
    `${path}: expected text that is not empty and has no space or line break at its ends`,
  );
});

describe.each(secrets)("%s", (path) => {
  test.each(["12345", "true", '""', '"   "', '"hunter2\\n"', '" hunter2"', "[hunter2]", "{hunter2: 1}", "null"])(
    "refuses %s without showing it",
    (value) => {
      const problems = problemsOf(withKey(path, value));
      expect(problems.join()).toContain(`${shown(path)}: expected text that is not empty`);
      expect(problems.join().replaceAll("svc.yaml:1:", "")).not.toMatch(/12345|hunter2/);
    },
  );
  test("refuses an empty variable", () => {
    expect(problemsOf(withKey(path, '"${V}"'), { V: "" }).join()).toContain(`${shown(path)}: expected text`);
  });
  test("takes text with colons and quotes from a variable", () => {
    expect(problemsOf(withKey(path, '"${V}"'), { V: `a: b "c" #d, and some more` })).toEqual([]);
  });
});

describe.each(numbers)("%s", (path, largest) => {
  test.each(["abc", "1.5", "-1", '"8"', "[]", "null", String(largest + 1)])("refuses %s", (value) => {
    expect(problemsOf(withKey(path, value)).join()).toContain(`${path}: expected a whole number from`);
  });
  test("takes a number, also from a variable", () => {
    expect(problemsOf(withKey(path, "5"))).toEqual([]);
    expect(problemsOf(withKey(path, '"${V}"'), { V: "5" })).toEqual([]);
  });
});

describe.each(durations)("%s", (path) => {
  test.each(["30", "abc", "1y", "0s", "-1s", "400d", "[]", "null"])("refuses %s", (value) => {
    expect(problemsOf(withKey(path, value)).join()).toContain(`${path}: expected a duration such as 30s`);
  });
  test("takes a duration, also from a variable", () => {
    expect(problemsOf(withKey(path, "45s"))).toEqual([]);
    expect(problemsOf(withKey(path, '"${N}m"'), { N: "5" })).toEqual([]);
  });
});

describe.each(urls)("%s", (path) => {
  const refused = [
    "ftp://x.example.org",
    "x.example.org",
    "https://",
    "https://u:hunter2@x.org",
    "https://x.org/?q=1",
    "",
  ];
  test.each(refused.map(json).concat("1", "null"))("refuses %s", (value) => {
    const problems = problemsOf(withKey(path, value)).join();
    expect(problems).toContain(`${path}: expected an address that begins with http:// or https://`);
    expect(problems).not.toContain("hunter2");
  });
  test.each(["http://127.0.0.1:8080", "https://x.example.org/prefix/"])("takes %s", (value) => {
    expect(problemsOf(withKey(path, json(value)))).toEqual([]);
  });
});

describe.each(choices)("%s", (path, allowed) => {
  test.each(["loud", "1", "null", "[]", '""'])("refuses %s", (value) => {
    expect(problemsOf(withKey(path, value)).join()).toContain(`${shown(path)}: expected one of ${allowed}; found`);
  });
  test.each(allowed.split(", "))("takes %s", (value) => expect(problemsOf(withKey(path, value))).toEqual([]));
});

describe.each(lists)("%s", (path, entry) => {
  test.each([json(entry), "{}", "null", "1"])("refuses %s", (value) => {
    expect(problemsOf(withKey(path, value)).join()).toContain(`${shown(path)}: expected a list; found`);
  });
  test.each(["1", "null", '""', "[]"])("refuses the entry %s", (value) => {
    expect(problemsOf(withKey(path, `[${value}]`)).join()).toContain(`${shown(path)}[0]: `);
  });
  test("takes a list, with entries from variables too", () => {
    expect(problemsOf(withKey(path, json([entry])))).toEqual([]);
    expect(problemsOf(withKey(path, '["${V}"]'), { V: entry })).toEqual([]);
  });
});

test.each([
  ["hostb.aliases", "https://git.example.org"],
  ["defaults.allowed_repos", "deploy"],
  ["defaults.allowed_repos", "acme/+(a)"],
  ["auth.hosta.allowed_teams", "platform"],
  ["auth.hosta.allowed_teams", "acme/"],
  ["auth.hostb.allowed_groups", "/acme"],
  ["auth.oidc.allowed_domains", "@example.org"],
  ["defaults.allowed_repos", "https://git.example.org/acme/deploy"],
  ["defaults.allowed_repos", "bitbucket:acme/deploy"],
  ["application_repositories[].repositories", "[a]/b"],
  ["application_repositories[].repositories", "github:deploy"],
  ["application_repositories[].repositories", "GitHub:acme/deploy"],
  ["application_repositories[].repositories", "https://git.example.org/acme/*"],
  ["application_repositories[].repositories", "https://token@git.example.org/acme/deploy"],
  ["notifications[].events", "planned"],
  ["notifications[].repositories", "[a]/b"],
  ["notifications[].repositories", "deploy"],
  ["notifications[].repositories", "https://git.example.org/acme/deploy"],
  ["redact", "(?=a)b"],
  ["redact", "(a)\\1"],
  ["redact", "((a{1000}){1000})"],
  ["redact", "(a"],
  ["redact", "a*"],
  ["redact", "a".repeat(513)],
  ["kvstore.sentinel.addresses", "host"],
  ["kvstore.cluster.addresses", "host:99999"],
])("%s refuses the entry %s", (path, entry) => {
  expect(problemsOf(withKey(path, json([entry])))).toHaveLength(1);
});

describe("server.command", () => {
  test.each(["a", "argo", "svc-staging", "a1", "x".repeat(30)])("takes %s, also from a variable", (word) => {
    expect(problemsOf(withKey("server.command", json(word)))).toEqual([]);
    expect(problemsOf(withKey("server.command", '"${V}"'), { V: word })).toEqual([]);
  });
  test.each([
    "",
    "Svc",
    "two words",
    "1",
    "-",
    "a-",
    "@argo",
    "/argo",
    "argo\n",
    "`a`",
    "ärger",
    "a_b",
    "x".repeat(31),
  ])("refuses %j", (word) => {
    const problems = problemsOf(withKey("server.command", json(word))).join();
    expect(problems).toContain("server.command: expected 1 to 30 lower-case letters, digits and dashes");
  });
});

describe.each(["hosta.poll", "hostb.poll"])("%s", (path) => {
  test.each(["off", "10s", "15s", "1h"])("takes %s", (every) => {
    expect(problemsOf(withKey(path, json(every))).join()).not.toContain("poll");
  });
  test.each(["9s", "1ms", "61m", "often", "0s"])("refuses %s", (every) => {
    expect(problemsOf(withKey(path, json(every))).join()).toContain("10s at least and 1h at most");
  });
});

describe("hostb.environment_name", () => {
  test.each([
    "{application}",
    "{cluster}/{namespace}/{application}",
    "argocd-eu/{application}",
    "eu.{cluster}/{application}_app",
  ])("takes %s", (name) => {
    expect(problemsOf(withKey("hostb.environment_name", json(name)))).toEqual([]);
  });
  test.each([
    "production",
    "{cluster}/{namespace}",
    "{cluster}-{application}",
    "{app}",
    "/{application}",
    "{application}/",
    "a//{application}",
    "{application}:x",
    "x".repeat(90) + "{application}",
  ])("refuses %s: applications could share it, or a host refuses it", (name) => {
    const problems = problemsOf(withKey("hostb.environment_name", json(name))).join();
    expect(problems).toContain("hostb.environment_name: expected a name with {application}");
  });
});
