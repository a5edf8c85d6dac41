import { describe, expect, test } from "@jest/globals";
import type { Compute } from "../../src/core/ports/compute.js";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { asYaml, changeOf } from "../scenarios/resources.js";
import { sharedPool } from "../workers/shared-pool.js";

const HEAD =
  "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: hidden}\nspec: {project: default}\n";

/** Texts that took a parser of YAML seconds or minutes, in a file that may hold an Application. */
const KILLERS: readonly (readonly [string, string])[] = [
  ["12 KB of nested keys", `${HEAD}x:\n${`- ${"{? ".repeat(40)}a${"}".repeat(40)}\n`.repeat(75)}`],
  ["245 KB of nested keys", `${HEAD}x:\n${`- ${"{? ".repeat(40)}a${"}".repeat(40)}\n`.repeat(1500)}`],
  ["a key in a key, 4,000 deep", `${HEAD}x: ${"{? ".repeat(4000)}a${"}".repeat(4000)}\n`],
  ["245 KB of commas", `${HEAD}x: [${",".repeat(245_000)}]\n`],
  ["more aliases than svc follows", `${HEAD}a: &a 1\nx: [${"*a,".repeat(2000)}]\n# {{ }}\n`],
];

/** With the commit status on, which on GitLab it is not by itself. */
function start(host: HostId, options: Partial<BotOptions> = {}): Promise<Bot> {
  const config = { defaults: { auto_merge: true }, ...(host === "hostb" && { hostb: { commit_status: true } }) };
  return startBot({ host, config, ...options });
}

/** The newest status of the head; on GitLab it needs a pipeline, which is there when the head is looked at again. */
async function statusOf(bot: Bot, one: number): Promise<string> {
  if (bot.host === "hostb") {
    bot.forge.runPipeline(REPOSITORY, one);
    await bot.close(one);
    await bot.forge.reopen(REPOSITORY, one);
    await bot.idle();
  }
  const last = bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1);
  return `${last?.state ?? "none"}: ${last?.description ?? ""}`;
}

/** Withholds what a worker made of a text until the service has answered for its health, which a blocked one cannot. */
function watched(): { readonly compute: Compute; readonly answers: boolean[]; url: string } {
  const pool = sharedPool();
  const watch = {
    url: "",
    answers: new Array<boolean>(),
    compute: {
      async run(...asked: Parameters<Compute["run"]>) {
        const [made, health] = await Promise.all([pool.run(...asked), fetch(`${watch.url}/health`)]);
        watch.answers.push(health.ok);
        return made;
      },
    } as Compute,
  };
  return watch;
}

describe.each(HOSTS)("on %s", (host) => {
  // GitLab keeps the statuses of forks in the fork, so a draft has to show it there.
  const opened = host === "hosta" ? { by: "olga", fork: true } : { draft: true };

  test.each(KILLERS)(
    "a fork's or draft's file with %s: the loop answers, and the status fails with its name",
    async (_, text) => {
      const watch = watched();
      const bot = await start(host, { compute: watch.compute });
      watch.url = bot.service.url;
      const one = await bot.open({ "evil/killer.yaml": text }, opened);
      expect(watch.answers).toContain(true);
      expect(watch.answers).not.toContain(false);
      expect(await statusOf(bot, one)).toBe("failure: could not be read: evil/killer.yaml");
      const two = await bot.open(changeOf(["web"]));
      expect(bot.lastComment(two)).toContain("### Application: `web`");
    },
  );

  test("a changed file that cannot be read leaves the plan unfinished, and nothing is synced or merged", async () => {
    const bot = await start(host);
    const one = await bot.open({ ...changeOf(["web"]), "evil/killer.yaml": KILLERS[0]?.[1] ?? "" });
    const plan = bot.lastComment(one);
    expect(plan).toContain("### Application: `web`");
    expect(plan).toContain("These changed files could not be read, and each may hold an Application:");
    expect(plan).toContain("- `evil/killer.yaml`: a key in it is a list, a map or null");
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("`evil/killer.yaml`");
    expect(bot.lastComment(one)).toContain("is synced or merged while they are in it");
    expect(bot.seen(one).state).toBe("open");
    expect(await statusOf(bot, one)).toBe("failure: could not be read: evil/killer.yaml");
    bot.expectChanges("sync web");
    await bot.push(one, { "evil/killer.yaml": null });
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("web");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("an unchanged file that cannot be read, and a changed template, block nothing", async () => {
    const files = () => ({ "evil/killer.yaml": KILLERS[0]?.[1] ?? "" });
    const bot = await start(host, { files });
    const template = asYaml(bot.resourceOf("late")).replace("name: late", "name: {{ .Values.name }}");
    const one = await bot.open({ ...changeOf(["web"]), "chart/templates/late.yaml": template });
    expect(bot.lastComment(one)).not.toContain("could not be read");
    await bot.approve(one);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).not.toContain("could not be read");
  });
});
