import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

const LATER = ".svc.yaml: takes effect only after the merge, because rules come from the base branch: ";
const NOW = ".svc.yaml: takes effect already: ";

describe.each(HOSTS)("a PR that changes .svc.yaml on %s", (host) => {
  test("is told which keys take effect only after the merge, and what acts already", async () => {
    const bot = await startBot({
      host,
      files: () => ({ ".svc.yaml": "require_approval: true\ncr_paths: [argocd/**]\n", "shared/x.txt": "1" }),
    });
    const file = [
      "require_approval: false",
      "auto_merge: true",
      "cr_paths: [argocd/**, more/**]",
      "applications: [{ name: api, paths: [shared/**] }]",
      "",
    ].join("\n");
    const one = await bot.open({ ...changeOf(["web"]), "shared/x.txt": "2", ".svc.yaml": file });
    expect(bot.lastComment(one)).toContain(`${LATER}approval no longer required, auto_merge`);
    expect(bot.lastComment(one)).toContain(`${NOW}applications api (shared/**), cr_paths more/**`);
    expect(await bot.locked(one)).toEqual(["api", "web"]);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("PR must be approved before sync");
  });

  test("also when no application is affected; and after the merge the keys act", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({ ".svc.yaml": "require_approval: true\n" });
    expect(bot.lastComment(one)).toContain("No applications are affected");
    expect(bot.lastComment(one)).toContain(`${LATER}approval required`);
    const two = await bot.open(changeOf(["web"]));
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.idle();
    await bot.comment(two, "svc sync");
    expect(bot.lastComment(two)).toContain("PR must be approved before sync");
  });

  test("an older branch that leaves the file alone is told nothing and is judged by the present rules", async () => {
    const bot = await startBot({ host, files: () => ({ ".svc.yaml": "autoplan: true\n" }) });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": "require_approval: true\n" });
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).not.toContain(".svc.yaml");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("PR must be approved before sync");
  });

  test("an older branch neither repairs a file that broke since, nor suffers from one that was put right", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": "require_approval: [\n" });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("`.svc.yaml` cannot be used");
    const two = await bot.open(changeOf(["api"]));
    expect(bot.lastComment(two)).toContain("`.svc.yaml` cannot be used");
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": "require_approval: false\n" });
    bot.expectChanges("sync api");
    await bot.comment(two, "svc plan");
    await bot.comment(two, "svc sync");
    expect(bot.lastComment(two)).toContain("✅ succeeded");
  });
});
