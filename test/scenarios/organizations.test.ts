import { expect, test } from "@jest/globals";
import { nameOn, REPOSITORY, startBot } from "./bot.js";
import { applicationResource, asYaml, changeOf, configMap } from "./resources.js";

const OTHER = "umbrella/deploy";

test("one svc serves two organizations, each through the App's installation on it", async () => {
  const bot = await startBot({
    host: "hosta",
    config: {
      defaults: { allowed_repos: ["acme/*", "umbrella/*"].map((one) => nameOn("hosta", one)), auto_merge: true },
    },
    prepare: async ({ argocd }, forge) => {
      const resource = applicationResource("rain", { repoURL: `${forge.url}/${OTHER}.git`, path: "apps/rain" });
      await forge.createRepository(OTHER, {
        "argocd/rain.yaml": asYaml(resource),
        "apps/rain/configmap.yaml": configMap("rain", { value: "1" }),
      });
      for (const login of ["ana", "bo"]) forge.setAccess(OTHER, login, "write");
      argocd.addApplication(resource);
    },
  });
  bot.expectChanges("sync web", "sync rain");
  const one = await bot.open(changeOf(["web"]));
  const other = await bot.open(
    { "apps/rain/configmap.yaml": configMap("rain", { value: "2" }) },
    { repository: OTHER },
  );
  await bot.comment(one, "svc sync");
  await bot.forge.comment(OTHER, other, "ana", "svc sync");
  await bot.idle();
  expect([bot.liveValue("web"), bot.liveValue("rain")]).toEqual(["2", "2"]);
  expect(bot.seen(one).state).toBe("merged");
  expect(bot.forge.changeRequest(OTHER, other).state).toBe("merged");
  // Each installation has a token of its own, which sees nothing of the other organization.
  const tokens = [REPOSITORY, OTHER].map((name) =>
    bot.forge.requests.find(({ method, path }) => method === "PUT" && path.includes(`/repos/${name}/pulls/`)),
  );
  expect(new Set(tokens.map((request) => request?.authorization)).size).toBe(2);
  expect(tokens).not.toContain(undefined);
});
