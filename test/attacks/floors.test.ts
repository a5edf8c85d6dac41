import { describe, expect, test } from "@jest/globals";
import { HOSTS, nameOn, startBot, type Bot } from "../scenarios/bot.js";
import { apart, asYaml, changeOf } from "../scenarios/resources.js";
import { refOn, startTwoHosts } from "./two-hosts.js";

const OTHER = { hosta: "hostb", hostb: "hosta" } as const;
const PREFIX = { hosta: "github", hostb: "gitlab" } as const;

/** A server that requires something of `web` at least, and a repository whose file says the opposite. */
function start(host: Bot["host"], required: Readonly<Record<string, unknown>>): Promise<Bot> {
  return startBot({
    host,
    resources: () => apart("api", "web"),
    config: { sync_requirements: [{ name: "we*", ...required }] },
    files: () => ({
      ".svc.yaml":
        "require_approval: false\nrequire_up_to_date: false\nsync_requirements: [{name: web, require_approval: false}]\n",
    }),
  });
}

describe.each(HOSTS)("what the server requires at least, on %s", (host) => {
  test("an approval is not lifted by the file of the repository that deploys, on any branch", async () => {
    const bot = await start(host, { require_approval: true });
    const one = await bot.open(changeOf(["web", "api"]));
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("PR must be approved before sync");
    expect(bot.lastComment(one)).toContain("Approval is required for `web`.");
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync -a api");
    expect(bot.changes()).toEqual(["sync api"]);
  });

  test("an up-to-date branch stays required where the server says so, and is up to the repository elsewhere", async () => {
    const bot = await start(host, { require_up_to_date: true });
    const one = await bot.open(changeOf(["web", "api"]));
    await bot.forge.pushToBranch("acme/deploy", "main", {
      "apps/web/other.yaml": asYaml({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "o" } }),
      "apps/api/other.yaml": asYaml({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "o" } }),
    });
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("the base branch");
    expect(bot.changes()).toEqual([]);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync -a api");
    expect(bot.changes()).toEqual(["sync api"]);
  });

  test("people that it allows are the only ones, and those of a repository's list have to be among them", async () => {
    const bot = await startBot({
      host,
      config: { sync_requirements: [{ name: "web", allowed_users: [nameOn(host, "bo")] }] },
      files: () => ({ ".svc.yaml": "sync_requirements: [{name: web, allowed_users: [ana]}]\n" }),
    });
    const one = await bot.open(changeOf(["web"]));
    for (const by of ["ana", "bo"]) {
      await bot.comment(one, "svc sync", by);
      expect(bot.lastComment(one)).toMatch(/may not run `svc sync` for/);
      expect(bot.lastComment(one)).toContain(
        "`web`: only ana, and of those only bo (by the rules of the server's svc.yaml) may",
      );
      expect(bot.lastComment(one)).toContain(
        "The rule is in `.svc.yaml` on the base branch, or in `svc.yaml`, which svc's administrators keep, under `sync_requirements`.",
      );
    }
    expect(bot.changes()).toEqual([]);
  });

  test("somebody of the same name on the other host is not meant", async () => {
    const allowed = (id: keyof typeof PREFIX) => ({
      config: { sync_requirements: [{ name: "web", allowed_users: [`${PREFIX[id]}:ana`] }] },
    });
    const wrong = await startTwoHosts(host, allowed(OTHER[host]));
    const number = await wrong.forges[host].open({ repository: "acme/deploy", by: "ana", changes: changeOf(["web"]) });
    await wrong.idle();
    await wrong.forges[host].comment("acme/deploy", number, "ana", "svc sync");
    await wrong.idle();
    expect(wrong.lastComment(host, number)).toContain("may not run `svc sync` for");
    expect(wrong.lastComment(host, number)).toContain(
      "nobody may, because the list of the server's svc.yaml names nobody here",
    );
    expect(wrong.lastComment(host, number)).toContain("The rule is in `svc.yaml`, which svc's administrators keep");
    expect(wrong.changes()).toEqual([]);

    const right = await startTwoHosts(host, allowed(host));
    const one = await right.forges[host].open({ repository: "acme/deploy", by: "ana", changes: changeOf(["web"]) });
    await right.idle();
    expect(await right.locked(refOn(host, one))).toEqual(["web"]);
    await right.forges[host].comment("acme/deploy", one, "ana", "svc sync");
    await right.idle();
    expect(right.changes()).toEqual(["sync web"]);
  });
});
