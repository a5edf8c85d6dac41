import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { planned, section } from "./plan-comment.js";
import { changeOf, configMap } from "./resources.js";

const OBJECTS = 40;
const LINES = 8000;
const KEYS = 20_000;

/** A ConfigMap of 400 KB: most have many lines, two have many keys. */
function largeConfigMap(index: number, seed: string) {
  const lines = Array.from({ length: LINES }, (_, line) => `${seed}${index}-${line}`.padEnd(49, "x"));
  const keys = Array.from({ length: KEYS }, (_, key) => [`key-${key}`, seed + String(key)] as const);
  const data = index % 20 === 0 ? Object.fromEntries(keys) : { text: lines.join("\n") };
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `large-${index}` }, data };
}

/** The manifests of `web` in every render, with another one for the target branch. */
async function renderLarge({ argocd }: Bot["world"]): Promise<void> {
  const all = (seed: string) => Array.from({ length: OBJECTS }, (_, index) => largeConfigMap(index, seed));
  await argocd.pollGit();
  const tip = argocd.application("web")?.status.sync.revision;
  if (typeof tip !== "string") throw new Error("web was not compared");
  argocd.setManifests("web", "*", all("new"));
  argocd.setManifests("web", tip, all("old"));
}

/** Measures the longest time, in milliseconds, in which the event loop took no turn. */
function watchSilence() {
  let longest = 0;
  let last = performance.now();
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 5);
  return {
    stop: () => {
      clearInterval(timer);
      look();
      return longest;
    },
  };
}

/** ConfigMaps with more text than one comment of any host holds. */
function manyConfigMaps(value: string): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => {
      const entries = Array.from({ length: 300 }, (__, line) => [`key-${line}`, `${value}-${"x".repeat(60)}`] as const);
      return [`apps/web/part-${index}.yaml`, configMap(`part-${index}`, Object.fromEntries<string>(entries))];
    }),
  );
}

describe.each(HOSTS)("large plans on %s", (host) => {
  test("while 40 ConfigMaps of 400 KB are compared, health is answered and other commands are carried out", async () => {
    const bot = await startBot({ host, prepare: renderLarge });
    const other = await bot.open(changeOf(["api"]));
    const rendered = new Promise<void>((resolve) => {
      const seen = new Set<string>();
      bot.argocd.onExchange(({ path, query }) => {
        if (path.endsWith("/web/manifests")) seen.add(query);
        if (seen.size === 2) resolve();
      });
    });
    const number = other + 1;
    const planning = bot.open(changeOf(["web"]));
    await rendered;
    const silence = watchSilence();
    await bot.forge.comment(REPOSITORY, other, "ana", "svc help");
    while ((await bot.stores.plans.find(bot.ref(number))) === undefined) {
      expect((await fetch(`${bot.service.url}/health`)).ok).toBe(true);
      await setTimeout(20);
    }
    const longest = silence.stop();
    // Before the plan is posted: nobody has waited for it.
    expect(bot.lastComment(other)).toContain("svc Help");
    expect(await planning).toBe(number);
    // Compared on this thread, they silence it for ten seconds.
    expect(longest).toBeLessThan(5000);
    const web = section(bot.answers(number).join("\n"), "web");
    expect(web).toContain(`**Changes:** 0 to create, ${OBJECTS} to update`);
    expect(web).toContain("Too many lines differ to be shown");
    expect(await bot.locked(number)).toEqual(["web"]);
  });

  test("a plan that is larger than a comment may be is split, every fence and collapsible closed", async () => {
    const bot = await startBot({ host, files: () => manyConfigMaps("old") });
    const one = await bot.open({ ...manyConfigMaps("new"), ...changeOf(["api"]) });
    const parts = bot.answers(one);
    const limit = host === "hosta" ? 65_536 : 1_000_000;
    expect(parts.length).toBeGreaterThan(1);
    for (const [index, part] of parts.entries()) {
      expect(part.length).toBeLessThan(limit);
      expect(part).toContain(`## svc Plan (part ${index + 1} of ${parts.length})`);
      expect((part.match(/^```/gm) ?? []).length % 2).toBe(0);
      expect(part.match(/<details>/g)?.length).toBe(part.match(/<\/details>/g)?.length);
    }
    expect(planned(parts.join("\n"))).toContain("api");
    for (let index = 0; index < 12; index += 1) expect(parts.join("\n")).toContain(`guestbook/part-${index}`);
    await bot.push(one, { "apps/web/part-0.yaml": configMap("part-0", { value: "small" }) });
    const old = bot.answers(one).slice(0, parts.length);
    for (const part of old) expect(part).toContain("Outdated plan");
  });
});
