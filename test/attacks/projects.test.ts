import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import { HOST_PREFIXES, type HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, startBot, USUAL_RENDERS, type Bot } from "../scenarios/bot.js";
import { applicationResource, asYaml, changeOf, configMap } from "../scenarios/resources.js";
import { git, names, shops } from "../scenarios/sets.js";
import { refOn, startTwoHosts } from "./two-hosts.js";

const PAYMENTS = "acme/payments";
const nameOn = (host: HostId, repository: string) => `${HOST_PREFIXES[host][0]}:${repository}`;
const obstacle = (host: HostId) =>
  `it would come into the project payments, into which only ${nameOn(host, PAYMENTS)} may introduce applications. ` +
  `svc.yaml says so under projects: ask an administrator of svc to list ${REPOSITORY} there, or take it out`;
/** As a comment has it, with its escapes taken out. */
const plain = (text: string) => text.replaceAll("\\", "").replaceAll("​", "");

interface World {
  /** Repositories of the project `payments`. */
  readonly repositories?: readonly string[];
  readonly files?: (url: string) => FileChanges;
}

/** `web` runs in the project `default`, `till` in `payments`, and a parent `root` applies what is in `children`. */
function start(host: HostId, { repositories = [nameOn(host, PAYMENTS)], files }: World = {}): Promise<Bot> {
  return startBot({
    host,
    applications: ["web", "till"],
    resources: () => ({ till: { project: "payments" } }),
    config: {
      ...USUAL_RENDERS,
      [host]: { commit_status: true },
      defaults: { auto_merge: true, merge_method: "merge" },
      projects: { payments: { repositories: [...repositories] } },
    },
    files: (url) => ({
      ...changeOf(["new"], "1"),
      "children/always.yaml": configMap("always", { value: "1" }),
      ...files?.(url),
    }),
    prepare: ({ argocd }, forge) => {
      argocd.addProject("payments", {});
      argocd.addApplication(applicationResource("root", { repoURL: forge.cloneUrl(REPOSITORY), path: "children" }));
    },
  });
}

const introducing = (bot: Bot, more: object = {}): FileChanges => ({
  "argocd/new.yaml": asYaml(bot.resourceOf("new", { project: "payments", ...more })),
});
const inPayments = { project: "payments" };

/** Opens it as `ana`, has it approved by `bo`, and expects that it is not green, renders nothing and is not merged. */
async function expectHeldBack(bot: Bot, changes: FileChanges, what: string | RegExp): Promise<number> {
  const one = await bot.open({ ...changes, ...changeOf(["web"]) });
  if (bot.host === "hostb") bot.forge.runPipeline(REPOSITORY, one);
  await bot.approve(one);
  await bot.comment(one, "svc plan");
  expect(plain(bot.lastComment(one))).toMatch(what);
  const status = () => bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1);
  expect(status()?.state).toBe("failure");
  expect(status()?.description).toContain("may not introduce");
  bot.expectChanges("sync web");
  await bot.comment(one, "svc sync -a web");
  expect(bot.changes()).toEqual(["sync web"]);
  expect(bot.seen(one).state).toBe("open");
  expect(plain(bot.answers(one).join("\n"))).toContain(obstacle(bot.host));
  expect(status()?.state).toBe("failure");
  expect(bot.argocd.temporaryApplications()).toEqual([]);
  const renders = bot.argocd.requests.filter(
    ({ method, path }) => method === "POST" && path === "/api/v1/applications",
  );
  expect(renders).toEqual([]);
  return one;
}

describe.each(HOSTS)("a project into which only other repositories may introduce applications, on %s", (host) => {
  test("a new application is neither locked, rendered nor merged, whoever approves it", async () => {
    const bot = await start(host);
    const one = await expectHeldBack(bot, introducing(bot), new RegExp("could not be evaluated"));
    expect(await bot.locked(one)).not.toContain("new");
  });

  test("one that an ApplicationSet generates which it introduces is not merged", async () => {
    const bot = await start(host, { files: () => ({ "shops/a/configmap.yaml": configMap("a", { value: "1" }) }) });
    const set = shops(bot.forge.cloneUrl(REPOSITORY), names("a"), inPayments);
    await expectHeldBack(bot, { "sets/shops.yaml": set }, /shop-a/);
  });

  test("one that an ApplicationSet generates which it changes is not merged", async () => {
    const byFolder = (url: string) => git(url, { directories: [{ path: "shops/*" }] });
    const options = { ...inPayments, name: "{{ .path.basename }}" };
    const bot = await start(host, {
      files: (url) => ({ "sets/shops.yaml": shops(url, byFolder(url), options) }),
    });
    await expectHeldBack(bot, { "shops/a/configmap.yaml": configMap("a", { value: "1" }) }, /shop-a/);
  });

  test("a new child is not created by a sync of its parent", async () => {
    const bot = await start(host);
    const child = asYaml(bot.resourceOf("new", { ...inPayments, namespace: "argocd" }));
    const one = await bot.open({ "children/new.yaml": child });
    await bot.approve(one);
    await bot.comment(one, "svc sync -a root");
    expect(plain(bot.lastComment(one))).toContain(`it brings new, and ${obstacle(host)}`);
    expect(bot.changes()).toEqual([]);
    expect(bot.argocd.requests.filter(({ method }) => method === "POST")).toEqual([]);
  });

  test("nor is one that a child of a new application brings, whoever approves", async () => {
    // Only renders tell of the files below.
    const bot = await start(host, { files: () => ({ ".svc.yaml": "cr_paths: ['argocd/*']\n" }) });
    const at = (path: string, more: object = {}) => ({ path, namespace: "argocd", ...more });
    const one = await bot.open({
      "argocd/top.yaml": asYaml(bot.resourceOf("top", { path: "top" })),
      "top/mid.yaml": asYaml(bot.resourceOf("mid", at("mid"))),
      "mid/new.yaml": asYaml(bot.resourceOf("new", at("apps/new", inPayments))),
      ...changeOf(["web"]),
    });
    if (host === "hostb") bot.forge.runPipeline(REPOSITORY, one);
    await bot.approve(one);
    await bot.comment(one, "svc plan");
    expect(plain(bot.lastComment(one))).toContain(obstacle(host));
    expect(bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1)?.state).not.toBe("success");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync -a web");
    expect(bot.seen(one).state).toBe("open");
    expect(bot.answers(one).join("\n")).toContain("`new`: the merge would deploy it");
  });

  test("an application that runs is not moved there", async () => {
    const bot = await start(host);
    const one = await bot.open({ "argocd/web.yaml": asYaml(bot.resourceOf("web", inPayments)) });
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    expect(plain(bot.lastComment(one))).toContain(obstacle(host));
    expect(bot.changes()).toEqual([]);
    expect(bot.argocd.requests.filter(({ method }) => method === "POST")).toEqual([]);
  });

  test("what svc cannot tell counts as coming there", async () => {
    const bot = await start(host);
    bot.argocd.faults.add({ path: /\/applicationsets\/generate$/, fault: { kind: "status", status: 500, body: "{}" } });
    const one = await bot.open({ "sets/shops.yaml": shops(bot.forge.cloneUrl(REPOSITORY), names("a"), {}) });
    if (host === "hostb") bot.forge.runPipeline(REPOSITORY, one);
    await bot.approve(one);
    await bot.comment(one, "svc plan");
    const status = bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1);
    expect(status).toMatchObject({ state: "failure", description: expect.stringContaining("may not introduce shops") });
  });

  test("the repositories of the list may, by a pattern too; so may all where the project is not listed, and what is there is theirs as before", async () => {
    for (const repositories of [[nameOn(host, REPOSITORY)], [nameOn(host, "acme/*")]]) {
      const bot = await start(host, { repositories });
      const one = await bot.open(introducing(bot));
      expect(await bot.locked(one)).toEqual(["new"]);
      expect(bot.lastComment(one)).toContain('value: "1"');
    }
    const bot = await start(host);
    const one = await bot.open(introducing(bot, { project: "default" }));
    expect(await bot.locked(one)).toEqual(["new"]);
    const two = await bot.open(changeOf(["till"]));
    bot.expectChanges("sync till");
    await bot.comment(two, "svc sync");
    expect(bot.changes()).toEqual(["sync till"]);
  });

  test("a repository of that name on the other host may not", async () => {
    const other = host === "hosta" ? "hostb" : "hosta";
    for (const [of, locked] of [
      [other, []],
      [host, ["new"]],
    ] as const) {
      const config = { projects: { payments: { repositories: [nameOn(of, REPOSITORY)] } } };
      const both = await startTwoHosts(host, { config });
      both.world.argocd.addProject("payments", {});
      const repoURL = both.forges[host].cloneUrl(REPOSITORY);
      const resource = applicationResource("new", { repoURL, path: "apps/web", project: "payments" });
      const changes = { "argocd/new.yaml": asYaml(resource) };
      const one = await both.forges[host].open({ repository: REPOSITORY, by: "ana", changes });
      await both.idle();
      expect(await both.locked(refOn(host, one))).toEqual(locked);
    }
  });
});
