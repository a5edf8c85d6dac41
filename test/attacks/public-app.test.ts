import { expect, test } from "@jest/globals";
import { nameOn, REPOSITORY, startBot } from "../scenarios/bot.js";
import { applicationResource, asYaml, changeOf, configMap } from "../scenarios/resources.js";

const THEIRS = "mallory/deploy";

test("whoever installs a public App on a repository of their own gets nothing from it, and drives nothing", async () => {
  const bot = await startBot({
    host: "hosta",
    config: { defaults: { allowed_repos: [nameOn("hosta", "acme/*")] } },
    prepare: async (_world, forge) => {
      await forge.createRepository(THEIRS, { "apps/web/configmap.yaml": configMap("web", { value: "1" }) });
      forge.setAccess(THEIRS, "mallory", "admin");
    },
  });
  const takeOver = applicationResource("web", { repoURL: bot.forge.cloneUrl(REPOSITORY) });
  const changes = { ...changeOf(["web"], "evil"), "argocd/web.yaml": asYaml(takeOver) };
  const number = await bot.forge.open({ repository: THEIRS, by: "mallory", changes });
  for (const command of ["svc plan", "svc sync", "svc unlock", "svc rollback", "svc help"]) {
    await bot.forge.comment(THEIRS, number, "mallory", command);
  }
  await bot.forge.push(THEIRS, number, changeOf(["web"], "worse"));
  await bot.forge.mergeByHand(THEIRS, number, "mallory");
  await bot.service.reconcile();
  await bot.idle();
  expect(bot.forge.requests.filter(({ path }) => path.includes("mallory"))).toEqual([]);
  expect(bot.forge.changeRequest(THEIRS, number).comments.every(({ author }) => author === "mallory")).toBe(true);
  expect(await bot.stores.locks.list()).toEqual([]);
  expect(bot.changes()).toEqual([]);
  const one = await bot.open(changeOf(["web"]));
  expect(await bot.locked(one)).toEqual(["web"]);
});
