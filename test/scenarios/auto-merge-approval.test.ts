import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, SHORT, startBot } from "./bot.js";
import { applicationResource, asYaml, changeOf } from "./resources.js";

const RULES = "auto_merge: true\nsync_requirements:\n  - name: fresh\n    require_approval: true\n";

describe.each(HOSTS)("what the merge itself deploys needs its approval on %s", (host) => {
  test("a new application that requires approval hinders the merge until the PR is approved", async () => {
    const bot = await startBot({ host, files: () => ({ ".svc.yaml": RULES }) });
    const repoURL = `${bot.forge.url}/acme/deploy.git`;
    const one = await bot.open({
      ...changeOf(["web"]),
      "argocd/fresh.yaml": asYaml(applicationResource("fresh", { repoURL, path: "apps/web" })),
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("2");
    expect(bot.lastComment(one)).toContain(`- \`fresh\`: ${SHORT[host]} must be approved before it is merged`);
    expect(bot.seen(one).state).toBe("open");
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
  });
});

describe.each(HOSTS)("what the merge itself deploys on %s", (host) => {
  test("waits for somebody who may deploy it, where allowed_users names others than who synced", async () => {
    const rules = "auto_merge: true\nsync_requirements:\n  - { name: fresh, allowed_users: [bo] }\n";
    const bot = await startBot({ host, files: () => ({ ".svc.yaml": rules }) });
    const repoURL = `${bot.forge.url}/acme/deploy.git`;
    const one = await bot.open({
      ...changeOf(["web"]),
      "argocd/fresh.yaml": asYaml(applicationResource("fresh", { repoURL, path: "apps/web" })),
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("2");
    expect(bot.lastComment(one)).toContain("- `fresh`: the merge would deploy it, and the rules do not let the person");
    expect(bot.seen(one).state).toBe("open");
    await bot.comment(one, "svc sync", "bo");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("an approval that is withdrawn while the sync runs hinders the merge", async () => {
    const rules = "auto_merge: true\nrequire_approval: true\n";
    const bot = await startBot({ host, files: () => ({ ".svc.yaml": rules }) });
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    bot.meanwhile("argocd", { method: "POST", path: /\/web\/sync$/ }, () =>
      bot.forge.review(REPOSITORY, one, "bo", "request-changes"),
    );
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("2");
    expect(bot.lastComment(one)).toContain(`- \`web\`: ${SHORT[host]} must be approved before it is merged`);
    expect(bot.seen(one).state).toBe("open");
  });
});
