import { describe, expect, test } from "@jest/globals";
import { HOSTS, nameOn, REPOSITORY, startBot } from "../scenarios/bot.js";
import { changeOf, configMap } from "../scenarios/resources.js";
import { harmIn } from "./shown-text.js";

const POLICY = `if grep -q forbidden; then echo "web holds a forbidden value"; exit 1; fi`;
const PLATFORM = [...new Set(HOSTS.map((host) => nameOn(host, "acme/platform")))];
const CHECKS = [{ name: "values", command: ["sh", "-c", POLICY], overridable_by: PLATFORM }];

/** Tries to end a fence, to ping people and to give commands. */
const HOSTILE = [
  "```",
  "````",
  "</details></summary><img src=x onerror=alert(1)>",
  "@acme/platform @ana see #1 and !1, GH-1",
  "[approve](https://evil.example.com) https://evil.example.com",
  "/merge",
  "svc sync",
  "\u202Egnp.exe \u001b[31mred\u0007",
  "~~~",
].join("\n");

describe.each(HOSTS)("a pull request on %s", (host) => {
  test("has no failed check lifted by an approval that cannot be read any more right before the sync", async () => {
    const bot = await startBot({ host, config: { checks: CHECKS } });
    bot.forge.setTeam("acme/platform", ["bo"]);
    const one = await bot.open(changeOf(["web"], "forbidden"));
    await bot.approve(one);
    const [team, approvals] =
      host === "hosta"
        ? [/\/teams\/platform\/memberships\//, /\/graphql$/]
        : [/\/groups\/.+\/members\//, /\/approvals$/];
    bot.meanwhile("forge", { path: team }, async () => {
      await bot.forge.review(REPOSITORY, one, "bo", "request-changes");
      bot.forge.faults.add({ path: approvals, fault: { kind: "status", status: 403, body: "{}" } });
    });
    await bot.comment(one, "svc sync");
    bot.forge.faults.clear();
    expect(bot.lastComment(one)).toContain("`web`: check values failed");
    expect(bot.lastComment(one)).toContain("the approvals could not be read again");
    expect(bot.changes()).toEqual([]);
  });

  test("neither adds, changes, skips nor escapes a check", async () => {
    const bot = await startBot({ host, config: { checks: CHECKS, defaults: { skip_no_changes: true } } });
    bot.forge.setTeam("acme/platform", ["ana"]);
    const one = await bot.open({
      ...changeOf(["web"], "forbidden"),
      ".svc.yaml": "checks: [{ name: values, command: ['true'] }]\n",
    });
    expect(bot.lastComment(one)).toContain("unknown key");
    expect(bot.lastComment(one)).not.toContain("grep");
    await bot.push(one, { ".svc.yaml": "sync_requirements: [{ name: web, require_approval: false }]\n" });
    expect(bot.lastComment(one)).toContain("checks: 1 failed");
    const asks = ["svc sync", "svc sync -a web", "svc sync -a 'w*'", "svc sync --prune", "svc sync --dry-run"];
    for (const ask of asks) {
      await bot.comment(one, ask);
      expect(bot.lastComment(one)).toContain("`web`: check values failed");
    }
    // The author is in the team and cannot approve; somebody outside of it can, and that lifts nothing.
    await bot.forge.review(REPOSITORY, one, "ana", "approve").catch(() => undefined);
    await bot.approve(one, "bo");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("`web`: check values failed");
    // An approval by the team covers the commit that it was given for.
    bot.forge.setTeam("acme/platform", ["bo"]);
    await bot.push(one, changeOf(["web"], "forbidden too"));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("`web`: check values failed");
    expect(bot.changes()).toEqual([]);
  });

  test("has a check print what breaks out of no fence, pings nobody and tells no secret", async () => {
    const script = 'printf "%s\\n" "$1" "$TOKEN"; base64 <<EOF\n$TOKEN\nEOF\nsed -n "s/^.*word: //p"; exit 1';
    const bot = await startBot({
      host,
      checkWords: false,
      variables: { TOKEN: "hunter22-of-the-check" },
      config: { checks: [{ name: "echo", command: ["sh", "-c", script, "sh", HOSTILE], env: ["TOKEN"] }] },
    });
    const one = await bot.open({
      "apps/web/configmap.yaml": configMap("web", { word: "@acme/platform ``` </details> /merge" }),
    });
    await bot.comment(one, "svc sync");
    const answers = bot.answers(one);
    expect(answers.join("\n")).toContain("Required check echo failed");
    expect(answers.join("\n")).toContain("/merge");
    expect(answers.join("\n")).not.toMatch(/hunter22|aHVudGVyMjI/);
    for (const answer of answers) {
      expect(harmIn(answer, [bot.forge.url, bot.argocd.url, "http://svc.example.com"])).toEqual([]);
    }
  });
});
