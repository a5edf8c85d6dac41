import { describe, expect, jest, test } from "@jest/globals";
import { HOSTS, startBot } from "./bot.js";
import { applicationResource, asYaml, changeOf } from "./resources.js";

jest.setTimeout(60_000);

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
    expect(bot.lastComment(one)).toContain("- `fresh`: PR must be approved before it is merged");
    expect(bot.seen(one).state).toBe("open");
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
  });
});
