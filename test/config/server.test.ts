import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { loadServerConfig } from "../../src/config/server/server.js";
import { describeProblem } from "../../src/config/yaml-tree.js";
import { rsaKey } from "./rsa-key.js";
import { configOf, problemsOf, SMALLEST } from "./server-file.js";

const KEY = rsaKey();

test("every default is filled in", () => {
  expect(configOf([SMALLEST])).toEqual({
    server: {
      host: "0.0.0.0",
      port: 4141,
      command: "svc",
      logLevel: "info",
      trustProxy: false,
      timezone: "UTC",
      concurrency: 10,
      shutdownGrace: 25_000,
    },
    kvstore: { db: 0, tls: false },
    comments: { plan: "auto", nothingAffected: "status", remindAfter: 86_400_000 },
    afterMerge: { timeout: 1_800_000 },
    deployer: {
      serverUrl: "https://argocd.example.org",
      token: "t",
      insecure: false,
      diffMode: "branch",
      serverDryRun: "auto",
      temporaryApps: "auto",
      renderConcurrency: 8,
      previewLimit: 100,
      renderTimeout: 120_000,
      syncTimeout: 600_000,
      requestTimeout: 30_000,
      pollInterval: 2000,
    },
    hostb: {
      url: "https://gitlab.com",
      token: "t",
      webhookSecret: "hook-secret-of-tests",
      commitStatus: false,
      environments: false,
      environmentName: "{cluster}/{namespace}/{application}",
      aliases: [],
      poll: "off",
    },
    defaults: {
      autoplan: true,
      allowedRepos: [],
      requireApproval: false,
      requireUpToDate: true,
      requireHealthy: false,
      healthTimeout: 300_000,
      onFailure: "keep",
      approvalFromCommitters: false,
      updateBranch: "command",
      autoMerge: false,
      mergeMethod: "squash",
      skipNoChanges: false,
      deleteSourceBranch: false,
      prune: false,
      planDrafts: false,
      allowForks: false,
      commandAccess: "write",
      allowedBots: [],
      protectedBranches: [],
    },
    auth: {
      enabled: false,
      sessionTtl: 86_400_000,
      cookieSecure: true,
      diffs: "readers",
      defaultRole: "user",
      roleAssignments: [],
      apiTokens: [],
    },
    applicationRepositories: [],
    projects: {},
    syncRequirements: [],
    checks: [],
    notifications: [],
    redact: [],
  });
});

test("the defaults of sections that are present", () => {
  const config = configOf(
    [
      `
deployer: {server_url: "https://a.example.org///", token: t}
hosta: {app_id: 7, private_key: "\${KEY}", webhook_secret: hook-secret-of-tests, aliases: [Ssh.GitHub.com]}
auth:
  cookie_domain: auto
  hosta: {client_id: i, client_secret: s}
  hostb: {client_id: i, client_secret: s}
  oidc: {name: n, issuer_url: "https://id.example.org/o/app/", client_id: i, client_secret: s, allowed_domains: [Example.ORG]}
`,
    ].concat([]),
    { KEY },
  );
  expect(config.hostb).toBeUndefined();
  expect(config.deployer.serverUrl).toBe("https://a.example.org");
  expect(config.hosta).toEqual({
    appId: 7,
    privateKey: KEY,
    webhookSecret: "hook-secret-of-tests",
    apiUrl: "https://api.github.com",
    webUrl: "https://github.com",
    commitStatus: true,
    deployments: false,
    environmentName: "{cluster}/{namespace}/{application}",
    aliases: ["ssh.github.com"],
    poll: "off",
  });
  expect(config.auth.cookieDomain).toBeUndefined();
  expect(config.auth.hosta).toEqual({ clientId: "i", clientSecret: "s", allowedOrgs: [], allowedTeams: [] });
  expect(config.auth.hostb).toEqual({ url: "https://gitlab.com", clientId: "i", clientSecret: "s", allowedGroups: [] });
  expect(config.auth.oidc).toEqual({
    name: "n",
    issuerUrl: "https://id.example.org/o/app/",
    clientId: "i",
    clientSecret: "s",
    scopes: ["openid", "profile", "email"],
    usernameClaim: "preferred_username",
    emailClaim: "email",
    allowedDomains: ["example.org"],
    requireVerifiedEmail: true,
  });
});

test("all mistakes at once, in the order of the lines, with file, line, column and key", () => {
  const text = `server:
  prot: 80
  log_level: loud
hostb:
  token: ""
deployer:
  server_url: argocd
  token: \${TOKEN}
frobnicate: 1
`;
  expect(problemsOf(text)).toEqual([
    "svc.yaml:2:3 server.prot: unknown key; did you mean `port`?",
    "svc.yaml:3:14 server.log_level: expected one of debug, info, warn, error; found other text",
    expect.stringMatching(/^svc\.yaml:4:1 hostb\.webhook_secret: is required/),
    expect.stringMatching(/^svc\.yaml:5:10 hostb\.token: expected text that is not empty/),
    expect.stringMatching(/^svc\.yaml:7:15 deployer\.server_url: expected an address/),
    "svc.yaml:8:10 deployer.token: the environment variable TOKEN is not set",
    expect.stringMatching(
      /^svc\.yaml:9:1 frobnicate: unknown key; allowed here: server, redis, argocd, comments, after_merge, github, gitlab/,
    ),
  ]);
});

describe("several files", () => {
  test("later ones win key by key; lists and single values are replaced", () => {
    const config = configOf([
      `${SMALLEST}server: {port: 1, host: a}\ndefaults: {allowed_repos: [a/b, c/d], autoplan: false}`,
      `server: {port: 2}\ndefaults: {allowed_repos: [e/f]}\nhostb: {token: u}`,
      `server: {log_level: warn}\ndeployer:`,
    ]);
    expect(config.server).toMatchObject({ port: 2, host: "a", logLevel: "warn" });
    expect(config.defaults).toMatchObject({ allowedRepos: ["e/f"], autoplan: false });
    expect(config.hostb).toMatchObject({ token: "u", webhookSecret: "hook-secret-of-tests" });
  });

  const load = (...texts: readonly string[]) => {
    const files = texts.map((text, index) => ({ name: `${index + 1}.yaml`, text }));
    const result = loadServerConfig(files, {});
    return result.kind === "invalid" ? result.problems.map(describeProblem) : [];
  };

  test("a mistake points to the file where the value stands", () => {
    const problems = load(`${SMALLEST}server:\n  port: 80\n  host: 1`, `server:\n  port: x`);
    expect(problems).toEqual([
      expect.stringMatching(/^1\.yaml:6:9 server\.host:/),
      expect.stringMatching(/^2\.yaml:2:9 server\.port:/),
    ]);
  });

  test("a mistake that a later file puts right is none", () => {
    expect(load(`${SMALLEST}server: {port: x}`, "server: {port: 80}")).toEqual([]);
  });

  test("a map put over a value, and a value over a map", () => {
    expect(load(`${SMALLEST}server: 1`, "server: {port: 80}")).toEqual([]);
    expect(load(`${SMALLEST}server: {port: 80}`, "server: 1").join()).toContain(
      "2.yaml:1:9 server: expected a section",
    );
  });

  test("a file that is not YAML is named, whatever the others hold", () => {
    expect(load(SMALLEST, "server: [", "\tx: 1")).toEqual([
      expect.stringMatching(/^2\.yaml:1:10 not valid YAML/),
      expect.stringMatching(/^3\.yaml:1:1 not valid YAML: indent with spaces/),
    ]);
  });

  test("no file at all lacks everything", () => {
    expect(load().join("\n")).toContain("deployer: is required");
  });

  test("a duplicate key is a mistake in its file", () => {
    expect(load(SMALLEST, "server: {port: 1}\nserver: {port: 2}")).toEqual([
      "2.yaml:2:1 server: the key is set twice, first on line 1",
    ]);
  });
});

test("any text is answered, never thrown at", () => {
  const yaml = fc.stringMatching(/^[a:\-\s{}[\]&*!|>'"#,?%~$1.]{0,60}$/);
  const keys = fc.constantFrom("server", "kvstore", "deployer", "hosta", "hostb", "defaults", "auth", "x");
  const keyed = fc
    .array(fc.tuple(keys, fc.oneof(yaml, fc.json())))
    .map((pairs) => pairs.map(([key, value]) => `${key}: ${value}`).join("\n"));
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string(), yaml, keyed), { maxLength: 3 }), (texts) => {
      const result = loadServerConfig(
        texts.map((text, index) => ({ name: `${index}.yaml`, text })),
        { a: "1" },
      );
      expect(result.kind).toBe("invalid");
      if (result.kind === "invalid") expect(result.problems.length).toBeGreaterThan(0);
    }),
    { numRuns: 1000 },
  );
});
