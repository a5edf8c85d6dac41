import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, SHORT, startBot } from "./bot.js";
import { asYaml, changeOf } from "./resources.js";

const BROKEN = "require_approval: [";
const NOT_APPROVED = "PR must be approved before sync";

describe.each(HOSTS)("policy on %s", (host) => {
  test("whose policy: .svc.yaml is read from the base branch, a PR cannot loosen the rules it is judged by", async () => {
    const base = "require_approval: true\nsync_requirements: [{name: api, require_approval: true}]\n";
    const head =
      "require_approval: false\nsync_requirements: [{name: web, require_approval: false}]\nauto_merge: true\n";
    const bot = await startBot({ host, files: () => ({ ".svc.yaml": base }) });
    const one = await bot.open({ ...changeOf(["web"]), ".svc.yaml": head });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(NOT_APPROVED);
    bot.expectChanges("sync web");
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("succeeded");
    expect(bot.seen(one).state).toBe("open");
  });

  test("a .svc.yaml broken on the default branch: a sync into another branch requires an approval, and says why", async () => {
    const bot = await startBot({
      host,
      git: true,
      applications: ["rel"],
      resources: () => ({ rel: { targetRevision: "release", path: "apps/rel" } }),
    });
    await bot.forge.pushToBranch(REPOSITORY, "release", { "readme.txt": "x" });
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": BROKEN });
    await bot.idle();
    const one = await bot.open(changeOf(["rel"], "2"), { base: "release" });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(NOT_APPROVED);
    expect(bot.lastComment(one)).toContain(
      "- `rel`: .svc.yaml is broken on the default branch, and every application requires one until it is put right there",
    );
  });

  test("a PR can add to applications and can take nothing away", async () => {
    const files = {
      "shared/x.txt": "1",
      "common/x.txt": "1",
      ".svc.yaml": "applications: [{name: web, paths: [shared/**]}]\n",
    };
    const bot = await startBot({ host, files: () => files });
    const head = "applications: [{name: api, paths: [common/**]}]\n";
    const one = await bot.open({ "shared/x.txt": "2", "common/x.txt": "2", ".svc.yaml": head });
    expect(await bot.locked(one)).toEqual(["api", "web"]);
  });

  test("a .svc.yaml broken at the head stops plans and syncs of that PR alone; unlock, rollback and help work", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await bot.comment(one, "svc plan");
    await bot.push(one, { ".svc.yaml": "version: 1\nauto_mergee: true\n" });
    expect(bot.lastComment(one)).toContain("`.svc.yaml` cannot be used, so nothing is planned or deployed:");
    expect(bot.lastComment(one)).toContain(".svc.yaml:2:1 auto_mergee: ");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("`.svc.yaml` cannot be used");
    await bot.comment(one, "svc help");
    expect(bot.lastComment(one)).toContain("## svc Help");
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("succeeded");
    expect(bot.liveValue("web")).toBe("1");
    const two = await bot.open(changeOf(["web", "api"], "3"));
    expect(await bot.locked(two)).toEqual(["api", "web"]);
    await bot.comment(one, "svc unlock");
    expect(bot.lastComment(one)).toContain("## svc Unlock");
  });

  test("a .svc.yaml broken at the base stops plans and syncs, except of a PR that repairs it: approval is then required for all", async () => {
    const bot = await startBot({ host, files: () => ({ ".svc.yaml": "require_approval: false\n" }) });
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": BROKEN });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).toContain("`.svc.yaml` cannot be used");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toMatch(/cannot be used|No applications are locked/);
    expect(await bot.locked(one)).toEqual([]);
    const repaired = "require_approval: false\nauto_merge: false\n";
    const two = await bot.open({ ...changeOf(["api"]), ".svc.yaml": repaired });
    expect(await bot.locked(two)).toEqual(["api"]);
    await bot.comment(two, "svc sync");
    expect(bot.lastComment(two)).toContain(NOT_APPROVED);
    bot.expectChanges("sync api");
    await bot.approve(two);
    await bot.comment(two, "svc sync");
    expect(bot.lastComment(two)).toContain("succeeded");
  });

  test("which repository may drive an application: refusals stand in the plan with the cure", async () => {
    const foreign = "http://charts.example.com/other/repo.git";
    const spec = (repoURL: string) => ({ source: { repoURL, path: ".", targetRevision: "main" } });
    const file = (name: string, value: string, annotations = {}) =>
      asYaml({
        apiVersion: "argoproj.io/v1alpha1",
        kind: "Application",
        metadata: { name, annotations },
        spec: { ...spec(foreign), project: "default", destination: { name: value, namespace: "guestbook" } },
      });
    const names = ["claimed", "annotated", "listed", "child", "stranger"];
    const bot = await startBot({
      host,
      applications: ["web"],
      files: () => Object.fromEntries(names.map((name) => [`argocd/${name}.yaml`, file(name, "one")])),
      config: {
        application_repositories: [{ application: "list*", repositories: ["acme/*"] }],
      },
      prepare({ argocd }, forge) {
        const own = { repoURL: forge.cloneUrl("acme/deploy"), path: "argocd", targetRevision: "main" };
        for (const name of names) {
          const annotations: Record<string, string> = {
            ...(name === "annotated" ? { "svc.dev/repository": "acme/deploy" } : {}),
            ...(name === "child" ? { "argocd.argoproj.io/tracking-id": tracking("root", "child") } : {}),
            ...(name === "stranger" ? { "argocd.argoproj.io/tracking-id": tracking("elsewhere", "stranger") } : {}),
          };
          argocd.addApplication({
            metadata: { name, annotations },
            spec: { ...spec(foreign), project: "default", destination: { name: "one", namespace: "guestbook" } },
          });
        }
        const parent = (name: string, source: object) =>
          argocd.addApplication({
            metadata: { name },
            spec: { source, project: "default", destination: { name: "one", namespace: "argocd" } },
          });
        argocd.setManifests({ path: "." }, "*", []);
        parent("root", own);
        parent("elsewhere", spec(foreign).source);
      },
    });
    // The annotation of the PR's own copy, and a mapping by paths, give no right.
    const changes = Object.fromEntries(
      names.map((name) => [`argocd/${name}.yaml`, file(name, "two", { "svc.dev/repository": "acme/deploy" })]),
    );
    const mapped = "applications: [{name: claimed, paths: [argocd/**]}]\n";
    const one = await bot.open({ ...changes, ".svc.yaml": mapped });
    const [, end = ""] = bot.lastComment(one).split(`Not deployed by this ${SHORT[host]}:`);
    const [refused = ""] = end.split("\n---\n");
    for (const name of ["claimed", "stranger"]) {
      expect(refused).toContain(`\`${name}\`: no source of the live Application points at acme/deploy`);
    }
    expect(refused).toContain("svc.dev/repository: acme/deploy on the live Application");
    expect(refused).toContain("application\\_repositories");
    expect(refused).not.toMatch(/annotated|listed|child/);
    expect(await bot.locked(one)).toEqual(expect.arrayContaining(["annotated", "child", "listed"]));
    expect(await bot.locked(one)).not.toContain("claimed");
  });
});

function tracking(parent: string, name: string): string {
  return `${parent}:argoproj.io/Application:argocd/${name}`;
}
