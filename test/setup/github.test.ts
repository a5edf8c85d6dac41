import { readFileSync } from "node:fs";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { parse } from "yaml";
import type { GitHubForge } from "../../sandbox/github/github-forge.js";
import { appKeys, GITHUB_APP, startSandbox, type SandboxWorld } from "../../sandbox/world.js";
import { parseCommandLine } from "../../src/config/command-line.js";
import { checkOnline } from "../../src/service/check-online.js";
import { compareCalls } from "../host-calls.js";
import { Operator } from "./operator.js";
import { formIn, startRegistration } from "./registration.js";

const URL = "https://svc.example.org";
const KEY = "GITHUB_APP_PRIVATE_KEY";
const SECRET = "GITHUB_WEBHOOK_SECRET";

let operator: Operator;
let world: SandboxWorld | undefined;

beforeEach(async () => {
  operator = await Operator.create();
});
afterEach(async () => {
  expect(world?.github?.violations ?? []).toEqual([]);
  if (world?.github !== undefined) expect(compareCalls(world.github).undescribed).toEqual([]);
  await world?.stop();
  world = undefined;
  await operator.leave();
});

async function github(): Promise<GitHubForge> {
  world = await startSandbox({ github: true });
  if (world.github === undefined) throw new Error("no GitHub");
  await world.github.createRepository("acme/shop", { "README.md": "hello" });
  return world.github;
}

const argvFor = (forge: GitHubForge, ...more: readonly string[]) => ["--url", URL, "--github", forge.url, ...more];

test("an App is registered, its secrets go into files, and the printed section makes svc ready", async () => {
  const forge = await github();
  const registration = await startRegistration(operator, argvFor(forge, "--organization", "acme"));
  const done = await registration.browser.open(await registration.createApp());
  expect(done).toMatchObject({ status: 200, text: expect.stringContaining("The App is registered") });
  const install = `${forge.url}/apps/${GITHUB_APP.slug}/installations/new`;
  expect(done.text).toContain(`href="${install}"`);
  const { exitCode, output } = await registration.ended;
  expect(exitCode).toBe(0);

  const files = await operator.files();
  expect(Object.keys(files).sort()).toEqual([KEY, SECRET]);
  for (const name of [KEY, SECRET]) expect(await operator.modeOf(name)).toBe(0o600);
  expect(files[KEY]).toBe(appKeys().privateKey);
  for (const shown of [output, done.text]) {
    expect(shown).not.toContain("PRIVATE KEY-");
    expect(shown).not.toContain(files[SECRET]);
  }
  for (const part of [`App      ${GITHUB_APP.slug}, id ${GITHUB_APP.id}`, install, "svc check --online svc.yaml"]) {
    expect(output).toContain(part);
  }
  await expect(registration.browser.open("/")).rejects.toThrow("fetch failed");

  const argocd = `argocd: { server_url: "${world?.argocd.url ?? ""}", token: "${world?.argocdToken ?? ""}", server_dry_run: "off" }`;
  const config = await operator.configured(output, argocd);
  expect(config.hosta).toMatchObject({ appId: GITHUB_APP.id, apiUrl: forge.apiUrl, webUrl: forge.url });
  expect(await checkOnline(config)).toMatchObject({ exitCode: 0 });
});

test("GitHub is asked for what app.yml says, and for nothing else", async () => {
  const forge = await github();
  const registration = await startRegistration(operator, argvFor(forge, "--organization", "acme"));
  const { action, fields } = formIn((await registration.enter(registration.code)).text);
  expect(action).toMatch(new RegExp(`^${forge.url}/organizations/acme/settings/apps/new\\?state=[\\w-]{43}$`));
  const file = parse(readFileSync("app.yml", "utf8")) as Record<string, unknown>;
  expect(JSON.parse(fields.manifest ?? "")).toEqual({
    ...file,
    name: "svc-acme",
    url: URL,
    hook_attributes: { url: `${URL}/webhook/hosta`, active: true },
    redirect_url: `${registration.url}/registered`,
  });
  await registration.expire();
});

test("with --poll the App has no webhook and no secret of one, and svc polls", async () => {
  const forge = await github();
  const argv = ["--poll", "--github", forge.url, "--organization", "acme"];
  const looking = await startRegistration(operator, argv);
  const asked = await looking.enter(looking.code);
  const file = parse(readFileSync("app.yml", "utf8")) as Record<string, unknown>;
  expect(JSON.parse(formIn(asked.text).fields.manifest ?? "")).toEqual({
    name: "svc-acme",
    description: file.description,
    public: false,
    default_permissions: file.default_permissions,
    url: `${forge.url}/acme`,
    redirect_url: `${looking.url}/registered`,
  });
  expect(asked.text).not.toContain("issue_comment");
  expect(asked.text).toContain("none: svc asks GitHub what happened");
  await looking.expire();
  const registration = await startRegistration(operator, argv);
  await registration.browser.open(await registration.createApp());
  const { exitCode, output } = await registration.ended;
  expect(exitCode).toBe(0);
  expect(Object.keys(await operator.files())).toEqual([KEY]);
  expect(output).not.toContain(SECRET);
  const argocd = `argocd: { server_url: "${world?.argocd.url ?? ""}", token: "${world?.argocdToken ?? ""}", server_dry_run: "off" }`;
  const config = await operator.configured(output, argocd);
  expect(config.hosta).toMatchObject({ appId: GITHUB_APP.id, poll: 15_000 });
  expect(config.hosta?.webhookSecret).toBeUndefined();
  expect(await checkOnline(config)).toMatchObject({ exitCode: 0 });
});

test("for a public App, the printed sections serve the named repositories alone", async () => {
  const forge = await github();
  const allow = ["--public", "--allow", "acme/*", "--allow", "umbrella/deploy"];
  const registration = await startRegistration(operator, argvFor(forge, "--organization", "acme", ...allow));
  await registration.browser.open(await registration.createApp());
  const { output } = await registration.ended;
  const argocd = `argocd: { server_url: "${world?.argocd.url ?? ""}", token: "${world?.argocdToken ?? ""}", server_dry_run: "off" }`;
  const config = await operator.configured(output, argocd);
  expect(config.defaults.allowedRepos).toEqual(["github:acme/*", "github:umbrella/deploy"]);
  await forge.createRepository("stranger/tool", { "README.md": "hello" });
  const { lines, exitCode } = await checkOnline(config);
  expect(lines.filter((line) => line.startsWith("warning: the App"))).toEqual([
    "warning: the App is installed on stranger, of which defaults.allowed_repos names no repository: its events are ignored. Uninstall it there, or name them",
  ]);
  expect(exitCode).toBe(0);
});

test("GitHub is asked for a public App only with --public", async () => {
  const forge = await github();
  const registration = await startRegistration(operator, argvFor(forge, "--public", "--allow", "acme/*"));
  const { fields } = formIn((await registration.enter(registration.code)).text);
  expect(JSON.parse(fields.manifest ?? "")).toMatchObject({ public: true });
  await registration.expire();
});

test.each([
  [["--public"], /--public needs --allow/],
  [["--allow", "acme/*"], /--allow belongs to --public/],
  [["--public", "--allow", "*"], /takes repositories of one owner/],
  [["--public", "--allow", "*/deploy"], /takes repositories of one owner/],
  [["--public", "--allow", "acme"], /takes repositories of one owner/],
  [["--public", "--allow", "**/x"], /takes repositories of one owner/],
])("no public App without repositories that it serves: %j", (given, message) => {
  expect(parseCommandLine(["setup", "github", "--url", URL, ...given])).toMatchObject({
    kind: "invalid",
    message: expect.stringMatching(message),
  });
});

test("the owner and the name are as asked, and the default is whoever creates it", async () => {
  const forge = await github();
  const registration = await startRegistration(operator, argvFor(forge, "--name", "deploys & more"));
  const { action, fields } = formIn((await registration.enter(registration.code.toLowerCase().replace("-", " "))).text);
  expect(action.split("?")[0]).toBe(`${forge.url}/settings/apps/new`);
  expect(JSON.parse(fields.manifest ?? "")).toMatchObject({ name: "deploys & more" });
  await registration.expire();
});

test("a try that failed at GitHub can be repeated with a new App", async () => {
  const forge = await github();
  const registration = await startRegistration(operator, argvFor(forge));
  const lost = await registration.createApp();
  const fixed = forge.faults.add({ path: /conversions$/, fault: { kind: "drop" } });
  const failed = await registration.browser.open(lost);
  expect(failed).toMatchObject({ status: 502, text: expect.stringContaining("could not be reached") });
  expect(await operator.files()).toEqual({});
  fixed();
  expect((await registration.browser.open(lost)).status).toBe(200);
  expect((await registration.ended).exitCode).toBe(0);
});

test.each([
  ["is no RSA key", { pem: "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n" }],
  ["has no secret of webhooks", { webhook_secret: null }],
  ["has a slug that leads elsewhere", { slug: "../../evil" }],
])("an App whose answer %s is refused", async (_, wrong) => {
  const forge = await github();
  const registration = await startRegistration(operator, argvFor(forge));
  const back = await registration.createApp();
  const app = {
    id: 7,
    slug: "svc",
    pem: appKeys().privateKey,
    webhook_secret: "hook-of-github",
    html_url: "https://evil.example/x",
  };
  const fault = (body: unknown) =>
    forge.faults.add({
      path: /conversions$/,
      fault: {
        kind: "status",
        status: 201,
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      },
    });
  const fixed = fault({ ...app, ...wrong });
  const refused = await registration.browser.open(back);
  expect(refused).toMatchObject({ status: 502, text: expect.stringContaining("Delete the new App at GitHub") });
  expect(await operator.files()).toEqual({});
  fixed();
  fault(app);
  const done = await registration.browser.open(back);
  expect(done.status).toBe(200);
  expect(done.text).not.toContain("evil");
  expect((await registration.ended).output).toContain(`${forge.url}/settings/apps/svc/installations`);
});

test.each([
  ["a file", (path: string) => writeFile(path, "mine")],
  ["a link to nothing", (path: string) => symlink("/nowhere/at/all", path)],
])("%s of the key's name is never overwritten", async (_, put) => {
  const forge = await github();
  await mkdir(operator.secrets);
  await put(join(operator.secrets, KEY));
  const early = await operator.run(["github", ...argvFor(forge)]);
  expect(early).toMatchObject({ exitCode: 1, output: expect.stringContaining(`${KEY} exists already`) });
  await rm(join(operator.secrets, KEY));

  const registration = await startRegistration(operator, argvFor(forge));
  const back = await registration.createApp();
  await put(join(operator.secrets, KEY));
  const late = await registration.browser.open(back);
  expect(late).toMatchObject({ status: 502, text: expect.stringContaining(`${KEY} exists already`) });
  expect(forge.requests.filter(({ path }) => path.includes("conversions"))).toEqual([]);
  await rm(join(operator.secrets, KEY));
  expect((await registration.browser.open(back)).status).toBe(200);
  expect((await registration.ended).exitCode).toBe(0);
});

test("setup ends after an hour", async () => {
  const forge = await github();
  const registration = await startRegistration(operator, argvFor(forge));
  expect(await registration.expire()).toMatchObject({
    exitCode: 1,
    output: expect.stringContaining("an hour has passed"),
  });
  expect(await operator.files()).toEqual({});
});

test("a port that is in use is named by its option", async () => {
  const forge = await github();
  const port = new globalThis.URL(forge.url).port;
  const { exitCode, output } = await operator.run(["github", ...argvFor(forge, "--port", port)]);
  expect({ exitCode, output }).toMatchObject({
    exitCode: 1,
    output: expect.stringContaining("set --port to a free port"),
  });
});
