import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import type { GitLabForge } from "../../sandbox/gitlab/gitlab-forge.js";
import { GITLAB_TOKEN, startSandbox, type SandboxWorld } from "../../sandbox/world.js";
import { checkOnline } from "../../src/service/check-online.js";
import { compareCalls } from "../host-calls.js";
import { Operator } from "./operator.js";

const URL = "https://svc.example.org";
const PROJECT = "acme/platform/shop";
const env = { GITLAB_TOKEN };

let operator: Operator;
let world: SandboxWorld | undefined;

beforeEach(async () => {
  operator = await Operator.create();
});
afterEach(async () => {
  expect(world?.gitlab?.violations ?? []).toEqual([]);
  if (world?.gitlab !== undefined) expect(compareCalls(world.gitlab).undescribed).toEqual([]);
  await world?.stop();
  await operator.leave();
});

async function gitlab(edition: "free" | "premium" = "free"): Promise<GitLabForge> {
  world = await startSandbox({ gitlab: { edition } });
  if (world.gitlab === undefined) throw new Error("no GitLab");
  await world.gitlab.createRepository(PROJECT, { "README.md": "hello" });
  return world.gitlab;
}

const argvFor = (forge: GitLabForge, ...more: readonly string[]) => [
  "gitlab",
  "--url",
  `${URL}/`,
  "--gitlab",
  forge.url,
  ...(more.length === 0 ? ["--project", PROJECT] : more),
];

function onlyHook(forge: GitLabForge) {
  const [hook, ...others] = forge.webhooks.all;
  if (hook === undefined || others.length > 0) throw new Error(`${forge.webhooks.all.length} webhooks`);
  return hook;
}

test("a project gets the webhook, and its secret goes into a file and nowhere else", async () => {
  const forge = await gitlab();
  const { exitCode, output } = await operator.run(argvFor(forge), { env });
  expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
  const { GITLAB_SIGNING_TOKEN: secret = "", ...others } = await operator.files();
  expect(others).toEqual({});
  expect(await operator.modeOf("GITLAB_SIGNING_TOKEN")).toBe(0o600);
  const on = ["push_events", "merge_requests_events", "note_events"];
  expect(forge.webhooks.all).toMatchObject([{ url: `${URL}/webhook/hostb`, signingToken: secret, token: undefined }]);
  expect(Object.entries(onlyHook(forge).events).flatMap(([name, sent]) => (sent ? [name] : []))).toEqual(on);
  expect(output).not.toContain(secret);
  expect(output).not.toContain(GITLAB_TOKEN);
  for (const part of [
    "scope api, expires on 2030-01-01",
    `role     Maintainer in ${PROJECT}`,
    "signed",
    "svc check --online",
  ]) {
    expect(output).toContain(part);
  }
  expect(JSON.stringify(forge.requests.map(({ path }) => path))).not.toContain(secret);
});

test("the printed section is what svc needs to be ready", async () => {
  const forge = await gitlab();
  const { output } = await operator.run(argvFor(forge), { env });
  const argocd = `argocd: { server_url: "${world?.argocd.url ?? ""}", token: "${world?.argocdToken ?? ""}", server_dry_run: "off" }`;
  const config = await operator.configured(output, argocd, env);
  const [hook] = forge.webhooks.all;
  expect(config.hostb).toMatchObject({ url: forge.url, token: GITLAB_TOKEN, signingToken: hook?.signingToken });
  expect(await checkOnline(config)).toMatchObject({ exitCode: 0 });
});

test("a GitLab that does not sign yet gets a secret token", async () => {
  const forge = await gitlab();
  forge.webhooks.setSigning(false);
  const { exitCode, output } = await operator.run(argvFor(forge), { env });
  expect(exitCode).toBe(0);
  const files = await operator.files();
  expect(Object.keys(files)).toEqual(["GITLAB_WEBHOOK_SECRET"]);
  expect(forge.webhooks.all).toMatchObject([{ token: files.GITLAB_WEBHOOK_SECRET, signingToken: undefined }]);
  expect(output).toContain("created");
  expect(output).toContain("webhook_secret: ${GITLAB_WEBHOOK_SECRET}");
  expect(output).not.toContain("signing_token");
});

test("a second run changes nothing, and a further project gets the same secret", async () => {
  const forge = await gitlab();
  await operator.run(argvFor(forge), { env });
  const before = structuredClone(forge.webhooks.all);
  const files = await operator.files();
  await forge.createRepository("acme/web", { "README.md": "hello" });
  const argv = argvFor(forge, "--project", PROJECT, "--project", "acme/web");
  const { exitCode, output } = await operator.run(argv, { stdin: `${GITLAB_TOKEN}\n`, env: {} });
  expect({ exitCode, output }).toMatchObject({ exitCode: 1, output: expect.stringContaining("--token-stdin") });
  const again = await operator.run([...argv, "--token-stdin"], { stdin: `${GITLAB_TOKEN}\n` });
  expect(again.exitCode).toBe(0);
  expect(again.output).toContain("existed, and is up to date now");
  expect(again.output).toContain("which was there already");
  expect(await operator.files()).toEqual(files);
  expect(forge.webhooks.all.slice(0, 1)).toEqual(before);
  expect(forge.webhooks.all).toHaveLength(2);
  expect(forge.webhooks.all[1]).toMatchObject({ signingToken: files.GITLAB_SIGNING_TOKEN });
});

test("an existing webhook of the same address is put right, not doubled", async () => {
  const forge = await gitlab();
  await operator.run(argvFor(forge), { env });
  const { id, events } = onlyHook(forge);
  forge.webhooks.change(id, {
    url: "https://SVC.example.org:443/webhook/hostb",
    events: { ...events, push_events: false, confidential_note_events: true },
    branchFilter: "main",
    signingToken: undefined,
  });
  const { exitCode } = await operator.run(argvFor(forge), { env });
  expect(exitCode).toBe(0);
  expect(forge.webhooks.all).toHaveLength(1);
  expect(forge.webhooks.all).toMatchObject([{ id, events, branchFilterStrategy: "all_branches" }]);
  expect(forge.webhooks.all[0]?.signingToken).toBe((await operator.files()).GITLAB_SIGNING_TOKEN);
});

test("a template, with which svc could not read what arrives, is named", async () => {
  const forge = await gitlab();
  await operator.run(argvFor(forge), { env });
  const { id } = onlyHook(forge);
  forge.webhooks.change(id, { template: '{"event":"{{object_kind}}"}' });
  const { exitCode, output } = await operator.run(argvFor(forge), { env });
  expect(exitCode).toBe(1);
  expect(output).toContain(`webhook ${id} of ${PROJECT} has a custom template`);
});

test("the secret of webhooks is kept although one of them cannot be created", async () => {
  const forge = await gitlab();
  await forge.createRepository("acme/web", { "README.md": "hello" });
  forge.faults.add({ path: /\/acme\/web\/hooks$/, fault: { kind: "status", status: 500 } });
  const { exitCode } = await operator.run(argvFor(forge, "--project", PROJECT, "--project", "acme/web"), { env });
  expect(exitCode).toBe(1);
  expect((await operator.files()).GITLAB_SIGNING_TOKEN).toBe(onlyHook(forge).signingToken);
});

test("a GitLab that tells nothing of tokens is no reason to stop", async () => {
  const forge = await gitlab();
  forge.faults.add({ path: /personal_access_tokens/, fault: { kind: "status", status: 404 } });
  const { exitCode, output } = await operator.run(argvFor(forge), { env });
  expect({ exitCode, output }).toMatchObject({
    exitCode: 0,
    output: expect.stringContaining("of which this GitLab tells nothing"),
  });
});

test("a token with too few scopes changes nothing", async () => {
  const forge = await gitlab();
  forge.deployments.setScopes("read_api", "read_repository");
  const { exitCode, output } = await operator.run(argvFor(forge), { env });
  expect(exitCode).toBe(1);
  expect(output).toContain(
    "the token of GITLAB_TOKEN has the scopes read_api, read_repository, and svc needs the scope api",
  );
  expect(forge.webhooks.all).toEqual([]);
  expect(await operator.files()).toEqual({});
});

test("a token that GitLab does not know is named by where it comes from", async () => {
  const forge = await gitlab();
  const { exitCode, output } = await operator.run(argvFor(forge), { env: { GITLAB_TOKEN: "glpat-of-somebody-else" } });
  expect(exitCode).toBe(1);
  expect(output).toMatch(/^GitLab refused the token of GITLAB_TOKEN \(401\)/);
  expect(output).not.toContain("glpat-of-somebody-else");
});

test("a Developer's token serves svc, and a maintainer's creates the webhook", async () => {
  const forge = await gitlab();
  forge.webhooks.setProjectLevel(PROJECT, 30);
  const refused = await operator.run(argvFor(forge), { env });
  expect(refused).toMatchObject({ exitCode: 1, output: expect.stringContaining("needs the role Maintainer") });
  expect(refused.output).toContain("GITLAB_SETUP_TOKEN");
  expect(forge.webhooks.all).toEqual([]);

  forge.webhooks.addToken("glpat-of-mia", "mia");
  forge.webhooks.setProjectLevel(PROJECT, 40, "mia");
  const made = await operator.run(argvFor(forge), { env: { ...env, GITLAB_SETUP_TOKEN: "glpat-of-mia" } });
  expect(made.exitCode).toBe(0);
  expect(made.output).toContain(`Developer in ${PROJECT}`);
  expect(made.output).not.toContain("glpat-of-mia");
  expect(forge.webhooks.all).toHaveLength(1);

  forge.webhooks.setProjectLevel(PROJECT, 20);
  const reporter = await operator.run(argvFor(forge), { env: { ...env, GITLAB_SETUP_TOKEN: "glpat-of-mia" } });
  expect(reporter).toMatchObject({ exitCode: 1, output: expect.stringContaining(`has Reporter in ${PROJECT}`) });
});

test("a group's webhook needs an owner, and Premium", async () => {
  const forge = await gitlab("premium");
  const argv = argvFor(forge, "--group", "acme/platform");
  forge.webhooks.setGroupLevel("acme/platform", 40);
  const maintainer = await operator.run(argv, { env });
  expect(maintainer).toMatchObject({ exitCode: 1, output: expect.stringContaining("needs the role Owner") });
  forge.webhooks.addToken("glpat-of-root", "root", { admin: true });
  const made = await operator.run(argv, { env: { ...env, GITLAB_SETUP_TOKEN: "glpat-of-root" } });
  expect(made.exitCode).toBe(0);
  expect(forge.webhooks.all).toMatchObject([{ of: "acme/platform", url: `${URL}/webhook/hostb` }]);
  await world?.stop();

  const free = await gitlab("free");
  free.webhooks.setGroupLevel("acme/platform", 50);
  const missing = await operator.run(argvFor(free, "--group", "acme/platform"), { env });
  expect(missing).toMatchObject({ exitCode: 1, output: expect.stringContaining("need GitLab Premium") });
  expect(await operator.run(argvFor(free, "--project", "acme/nothing"), { env })).toMatchObject({ exitCode: 1 });
});

test.each([
  ["GITLAB_SIGNING_TOKEN", "whsec_short"],
  ["GITLAB_SIGNING_TOKEN", ""],
  ["GITLAB_WEBHOOK_SECRET", "secret with a line break\n"],
])("a file %s that holds %j is left alone, and no webhook gets it", async (name, text) => {
  const forge = await gitlab();
  forge.webhooks.setSigning(name === "GITLAB_SIGNING_TOKEN");
  await mkdir(operator.secrets);
  await writeFile(join(operator.secrets, name), text);
  const { exitCode, output } = await operator.run(argvFor(forge), { env });
  expect({ exitCode, output }).toMatchObject({ exitCode: 1, output: expect.stringContaining(name) });
  expect(await operator.files()).toEqual({ [name]: text });
  expect(forge.webhooks.all.filter((hook) => hook.token !== undefined || hook.signingToken !== undefined)).toEqual([]);
});

test("answers that are not GitLab's end the command with a sentence", async () => {
  const forge = await gitlab();
  const body = '[{"id":"1","url":7}]';
  const headers = { "content-type": "application/json" };
  forge.faults.add({ path: /\/hooks$/, fault: { kind: "status", status: 200, body, headers } });
  const { exitCode, output } = await operator.run(argvFor(forge), { env });
  expect(exitCode).toBe(1);
  expect(output).toMatch(/^GitLab gave an unexpected answer when asked to list the webhooks/);
});
