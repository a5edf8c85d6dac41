import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot } from "./bot.js";
import { planned, section } from "./plan-comment.js";
import { changeOf, configMap } from "./resources.js";

describe.each(HOSTS)("plan on %s", (host) => {
  test("an opened PR is planned: locked, compared with the target branch, posted, its revision in the lock", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({ ...changeOf(["web"]), "apps/web/more.yaml": configMap("more", { value: "1" }) });
    const head = bot.seen(one).headRevision;
    const comment = bot.lastComment(one);
    expect(bot.answers(one)).toHaveLength(1);
    expect(comment).toMatch(/^<!-- svc:plan [^\n]*-->\n## svc Plan\n\[`web`\][^\n]*\n\n### Application: `web`\n/);
    const web = section(comment, "web");
    expect(web).toContain("**Changes:** 1 to create, 1 to update");
    expect(web).toContain("<details><summary>Diff (2 resources changed)</summary>\n\n```diff\n");
    expect(web).toMatch(/-  value: "1"\n\+  value: "2"\n/);
    expect(web).toMatch(/```\n\n<\/details>\n\n\*\*Status:\*\* Locked by this PR\n$/);
    expect(comment).toMatch(
      new RegExp(
        `\n---\nTo deploy commit \\[\`${head.slice(0, 8)}\`\\]\\([^)]*${head}>\\), comment:\n\`\`\`\nsvc sync\n\`\`\``,
      ),
    );
    expect(await bot.stores.locks.list()).toEqual([
      {
        application: "web",
        holder: bot.ref(one),
        user: "ana",
        timestamp: expect.any(String),
        planRevision: head,
        sourceFile: undefined,
      },
    ]);
    expect(bot.argocd.requests.filter(({ method }) => method !== "GET")).toEqual([]);
  });

  test("a changed definition is rendered by a temporary Application, which is deleted", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({
      "apps/next/configmap.yaml": configMap("web", { value: "next" }),
      "argocd/web.yaml": JSON.stringify(bot.resourceOf("web", { path: "apps/next" })),
      ...changeOf(["api"]),
    });
    expect(section(bot.lastComment(one), "web")).toContain("+  value: next");
    const writes = bot.argocd.requests.filter(({ method }) => method !== "GET");
    expect(writes.map(({ method }) => method)).toEqual(["POST", "DELETE"]);
    expect(writes[0]?.body).toMatchObject({
      metadata: { name: expect.stringMatching(/^svc-tmp-/), labels: { "svc.dev/temporary": expect.anything() } },
      spec: { source: { path: "apps/next", targetRevision: bot.seen(one).headRevision } },
    });
    expect(JSON.stringify(writes[0]?.body)).not.toContain("automated");
    expect(writes[1]?.query).toMatchObject({ cascade: ["false"] });
    expect(bot.argocd.temporaryApplications()).toEqual([]);
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/web");
  });

  test("temporary_apps: always renders every application by a temporary Application on both sides", async () => {
    const bot = await startBot({ host, config: { deployer: { temporary_apps: "always" } } });
    const one = await bot.open(changeOf(["web"]));
    expect(section(bot.lastComment(one), "web")).toContain('+  value: "2"');
    const writes = bot.argocd.requests.filter(({ method }) => method !== "GET").map(({ method }) => method);
    expect(writes.sort()).toEqual(["DELETE", "DELETE", "POST", "POST"]);
    expect(bot.argocd.temporaryApplications()).toEqual([]);
  });

  test("a token that may not create a temporary Application: could not be evaluated, never the old definition", async () => {
    const bot = await startBot({
      host,
      config: ({ argocd }) => ({ deployer: { token: argocd.addAccount("small", { permissions: "get+sync" }) } }),
    });
    const one = await bot.open({
      "apps/next/configmap.yaml": configMap("web", { value: "next" }),
      "argocd/web.yaml": JSON.stringify(bot.resourceOf("web", { path: "apps/next" })),
      ...changeOf(["api", "web"]),
    });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("**Changes:** could not be evaluated");
    expect(web).toContain("permission denied: applications, create");
    expect(web).toContain("+    path: apps/next");
    expect(web).not.toContain("ConfigMap");
    expect(section(bot.lastComment(one), "api")).toContain('+  value: "2"');
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("Plan for web is stale. Please run the plan command again.");
    expect(bot.lastComment(one)).toContain("permission denied: applications, create");
  });

  test("one failing application hides no other, and a later plan evaluates it", async () => {
    const bot = await startBot({ host, applications: ["api", "shop", "web"] });
    const message = "helm template failed";
    bot.argocd.faults.add({
      path: /applications\/shop\/manifests/,
      fault: { kind: "status", status: 500, body: JSON.stringify({ error: message, code: 2, message }) },
    });
    const one = await bot.open(changeOf(["api", "shop", "web"]));
    expect(planned(bot.lastComment(one))).toEqual(["api", "shop", "web"]);
    expect(section(bot.lastComment(one), "shop")).toContain(message);
    expect(section(bot.lastComment(one), "shop")).toContain("**Changes:** could not be evaluated");
    for (const name of ["api", "web"]) expect(section(bot.lastComment(one), name)).toContain("1 to update");
    const revisions = (await bot.stores.locks.list()).map(({ planRevision }) => planRevision);
    expect(revisions).toEqual([bot.seen(one).headRevision, undefined, bot.seen(one).headRevision]);
    bot.argocd.faults.clear();
    await bot.comment(one, "svc plan -a shop");
    expect(section(bot.lastComment(one), "shop")).toContain("1 to update");
    expect((await bot.stores.locks.list())[1]?.planRevision).toBe(bot.seen(one).headRevision);
  });
});
