import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { GITHUB_APP, GITLAB_TOKEN } from "../../sandbox/world.js";
import { createApp } from "../setup/registration.js";
import { Visitor } from "../web/visitor.js";
import { guideBlocks, guideText } from "./guide.js";
import { TRIED, TrialWorld } from "./trial-world.js";

const commands = guideBlocks(guideText(["trial.md"])).flatMap((block) => (block.kind === "commands" ? [block] : []));
const typed = commands.filter(({ proof }) => proof.kind === "run").map(({ text }) => text);
const trials = commands.filter(({ proof }) => proof.kind === "background").map(({ text }) => text.trim());

let world: TrialWorld;

beforeAll(async () => {
  world = await TrialWorld.start();
  for (const host of ["github", "gitlab"]) await world.createRepository(host);
  const lines = world.type(typed[0] ?? "", { cloned: false });
  expect([await lines.ended(), lines.said]).toEqual([0, expect.any(String)]);
}, 120_000);
afterEach(async () => {
  await world.interrupt();
  world.called.length = 0;
  world.applied.length = 0;
});
afterAll(() => world.stop());

/** The line of the page, with the sandbox in the place of the host's address, and a port that is free. */
function lineOf(host: string, number: number): string {
  return `${trials[number] ?? ""} --host ${world.forge(host).url} --port 0`;
}

/** The comment of svc under a new pull request. */
async function firstComment(host: string): Promise<string> {
  const forge = world.forge(host);
  // The first poll counts whole seconds.
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const file = `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: web, namespace: web }\ndata: { size: "2" }\n`;
  const number = await forge.open({ repository: TRIED, by: "ana", changes: { "apps/web/settings.yaml": file } });
  const limit = Date.now() + 60_000;
  for (;;) {
    const [comment] = forge.changeRequest(TRIED, number).comments;
    if (comment !== undefined) return comment.body;
    if (Date.now() > limit) throw new Error("no comment");
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function takeAway(): Promise<string> {
  const removing = world.type(typed.at(-1) ?? "");
  expect(await removing.ended()).toBe(0);
  expect(existsSync(world.path("trial"))).toBe(false);
  expect(world.called).toContain("kind delete cluster --name svc-trial");
  return removing.said;
}

test("the page has eight lines to type at most until the plan is there", () => {
  const lines = [typed[0] ?? "", trials[0] ?? ""].flatMap((text) => text.trim().split("\n"));
  expect(lines.length).toBeLessThanOrEqual(8);
  expect([typed.length, trials.length]).toEqual([2, 3]);
});

test("GitHub: the App is registered and awaited, Argo CD gets the application, and a new pull request its plan", async () => {
  const lines = world.type(lineOf("github", 0));
  const [, url = "", code = ""] = await lines.until(/(http:\/\/127\.0\.0\.1:\d+)\/[^]*^ {4}(\S{4}-\S{4})$/m);
  const browser = new Visitor(url);
  await browser.open(await createApp(browser, code));
  await lines.until(/== Install the App on acme\/shop: http\S+installations\/new/);
  await lines.until(/"msg":"listening"/);
  const comment = await firstComment("github");
  expect(comment).toContain("## svc Plan");
  expect(comment).toContain("`web`");
  await lines.interrupt();
  expect(lines.said).toContain("svc.yaml: valid");
  expect(lines.said).not.toContain("This goes into");
  expect(lines.said).not.toContain(world.sandbox.argocdToken);
  const [secret, application] = [world.applied.at(-2), world.applied.at(-1)];
  expect(secret).toMatchObject({
    metadata: { labels: { "argocd.argoproj.io/secret-type": "repository" } },
    stringData: {
      url: `${world.forge("github").url}/${TRIED}.git`,
      githubAppID: String(GITHUB_APP.id),
      githubAppInstallationID: expect.stringMatching(/^\d+$/),
      githubAppPrivateKey: readFileSync(world.path("trial/secrets/GITHUB_APP_PRIVATE_KEY"), "utf8"),
    },
  });
  expect(application).toMatchObject({ kind: "Application", metadata: { name: "web" }, operation: { sync: {} } });
  for (const name of readdirSync(world.path("trial"))) {
    expect([name, statSync(world.path(`trial/${name}`)).mode & 0o077]).toEqual([name, 0]);
  }
  expect([world.sandbox.github?.violations, world.sandbox.argocd.violations]).toEqual([[], []]);
  expect(await takeAway()).toContain(`Delete the App ${GITHUB_APP.slug} at GitHub`);
}, 150_000);

test("GitLab: the token is asked for, and a new merge request gets its plan; the same command again goes on", async () => {
  const first = world.type(lineOf("gitlab", 1), { stdin: `${GITLAB_TOKEN}\n` });
  await first.until(/"msg":"listening"/);
  await first.interrupt();
  const again = world.type(lineOf("gitlab", 1));
  await again.until(/"msg":"listening"/);
  expect(world.called.filter((call) => call.startsWith("kind create"))).toHaveLength(1);
  expect(world.called).toContain("kind export kubeconfig --name svc-trial");
  expect(await firstComment("gitlab")).toContain("## svc Plan");
  await again.interrupt();
  expect(`${first.said}${again.said}`).not.toContain(GITLAB_TOKEN);
  await takeAway();
}, 150_000);

test("an Argo CD that is there needs no cluster, and nothing is applied to one", async () => {
  const { argocd, argocdToken } = world.sandbox;
  const line = lineOf("gitlab", 2)
    .replace("github acme", "gitlab acme")
    .replace("https://argocd.example.org", argocd.url);
  const lines = world.type(line, { env: { GITLAB_TOKEN, ARGOCD_TOKEN: argocdToken } });
  await lines.until(/"msg":"listening"/);
  await lines.interrupt();
  expect([world.called, world.applied]).toEqual([[], []]);
  await takeAway();
}, 60_000);
