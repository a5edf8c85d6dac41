import { describe, expect, test } from "@jest/globals";
import { HOSTS, USUAL_RENDERS, REPOSITORY, startBot, type Bot } from "../scenarios/bot.js";
import { asYaml, changeOf, configMap } from "../scenarios/resources.js";
import { harmIn } from "./shown-text.js";

/** Texts that do something when they stand in a comment as they are. */
const ACTING = [
  "$\\text{approved}$",
  "/merge",
  "/approve\n/close",
  "```\n/merge\n```",
  "````\n/unapprove",
  "~~~\n/label ~x\n~~~",
  "`` ` ``\n/merge",
  "</details></summary><script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<!-- \n/merge",
  "--> <b>x</b>",
  "![p](https://evil.example.com/p.png)",
  "https://evil.example.com/",
  "<https://evil.example.com/>",
  "@acme/admins closes #1, fixes GH-1 and !1",
  "svc sync",
  "\u202Ecnys cvs\u202C\u200F",
  "\u001B]0;x\u0007",
  "a\r/merge\u2028/merge\u2029/merge",
] as const;

/** Those, and others that do something beside the right neighbours. */
const TEXTS = [
  ...ACTING,
  "[click](javascript:alert(1))",
  "[x]: https://evil.example.com/",
  "| a | b |\n|---|---|\n| /merge | x |",
] as const;

function expectHarmless(bot: Bot, number: number): void {
  const answers = bot.answers(number);
  expect(answers.length).toBeGreaterThan(0);
  for (const answer of answers) expect([harmIn(answer, [bot.forge.url, bot.argocd.url]), answer]).toEqual([[], answer]);
  expect((bot.world.gitlab?.quickActions ?? []).filter(({ by }) => !["ana", "bo"].includes(by))).toEqual([]);
  const { state, mergedBy } = bot.seen(number);
  expect([state, mergedBy]).toEqual(["open", undefined]);
}

describe("the search for harm", () => {
  test.each(ACTING)("finds it in %j", (text) => {
    expect(harmIn(`## svc Plan\n\n${text}\n`)).not.toEqual([]);
  });

  test("finds none in code, and none in what we write ourselves", () => {
    const fine = "<!-- svc:plan part=1 -->\n## svc Plan\n\n`@team #1 <b>`\n\n```diff\n+<b>@team</b>\n```\n";
    expect(harmIn(fine)).toEqual([]);
  });
});

describe.each(HOSTS)("texts of an attacker in our comments on %s", (host) => {
  test("values, keys and names of rendered objects do nothing in a plan", async () => {
    const bot = await startBot({ host });
    const values = Object.fromEntries(TEXTS.map((text, index) => [`k${index}`, text]));
    const named = TEXTS.map(
      (text) => `${JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: text } })}\n`,
    );
    const one = await bot.open({
      "apps/web/configmap.yaml": [configMap("web", values), ...named].join("---\n"),
      "apps/web/keys.yaml": JSON.stringify({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "keys" },
        data: Object.fromEntries(TEXTS.map((text) => [text, "x"])),
      }),
    });
    expect(bot.lastComment(one)).toContain("### Application: `web`");
    expect(bot.lastComment(one)).toContain("# create: ConfigMap guestbook/svc sync");
    expectHarmless(bot, one);
  });

  test("names of files, branches and applications do nothing in a plan", async () => {
    const bot = await startBot({ host });
    const files = TEXTS.map((text, index) => [
      `argocd/${index}-${text.replaceAll("/", "_").replaceAll("\u0000", "")}.yaml`,
      asYaml(bot.resourceOf(`new-${index}`, { path: "apps/api" })),
    ]);
    const badNames = TEXTS.map((text, index) => [`argocd/bad-${index}.yaml`, asYaml(bot.resourceOf(text))]);
    const one = await bot.open(
      { ...changeOf(["web"]), ...(Object.fromEntries([...files, ...badNames]) as Record<string, string>) },
      { branch: "@team/merge-`x`-<b>", title: "/merge @acme/admins" },
    );
    expect(bot.answers(one).join("\n")).toContain("### Application: `web`");
    expectHarmless(bot, one);
  });

  test("error texts of Argo CD do nothing in a plan or a result", async () => {
    const bot = await startBot({ host, config: USUAL_RENDERS, checkChanges: false });
    const message = TEXTS.join("\n");
    bot.argocd.faults.add({
      path: /\/web\/manifests$/,
      times: 2,
      fault: { kind: "status", status: 400, body: JSON.stringify({ error: message, code: 3, message }) },
    });
    const one = await bot.open(changeOf(["api", "web"]));
    expect(bot.lastComment(one)).toContain("could not be evaluated");
    await bot.comment(one, "svc plan");
    bot.argocd.failNextSync("api", { phase: "Failed", message });
    bot.argocd.faults.add({
      method: "POST",
      path: /\/web\/sync$/,
      times: 1,
      fault: { kind: "status", status: 403, body: JSON.stringify({ error: message, code: 7, message }) },
    });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("❌");
    expectHarmless(bot, one);
  });

  test("error texts of the host, and subjects of commits, do nothing in an answer", async () => {
    const files = () => ({ ".svc.yaml": "auto_merge: true\n" });
    const bot = await startBot({ host, checkChanges: false, checkWords: false, files });
    const one = await bot.open(changeOf(["web"]));
    const message = TEXTS.join("\n");
    bot.forge.faults.add({
      method: "PUT",
      path: /\/merge$/,
      times: 9,
      fault: {
        kind: "status",
        status: host === "hosta" ? 409 : 406,
        body: JSON.stringify({ message }),
        headers: { "content-type": "application/json" },
      },
    });
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync web"]);
    expectHarmless(bot, one);
  });

  test("a name that reads like a reference to another pull request is no link in a plan", async () => {
    const reference = host === "hosta" ? "PR #7" : "MR !7";
    const name = `of ${reference} (bo)`;
    const claim = (storageClassName: string) =>
      JSON.stringify({
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: { name },
        spec: { storageClassName },
      });
    const bot = await startBot({
      host,
      config: { deployer: { diff_mode: "branch" } },
      files: () => ({ "apps/web/claim.json": claim("fast") }),
    });
    const one = await bot.open({ "apps/web/claim.json": claim("slow") });
    const plan = bot.lastComment(one);
    expect(plan).toContain("Kubernetes refuses to change PersistentVolumeClaim guestbook/of");
    expect(plan).not.toContain(`[${reference}`);
    expectHarmless(bot, one);
  });

  test("keys, names and patterns of the repository file do nothing in its refusal", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    for (const texts of [TEXTS.slice(0, 6), TEXTS.slice(6, 12), TEXTS.slice(12)]) {
      const keys = texts.map((text) => JSON.stringify(text));
      const entries = keys.map((key) => `{name: ${key}, paths: [${key}], ${key}: 1}`);
      const lines = [
        ...keys.map((key) => `${key}: ${key}`),
        `merge_method: ${keys[0]}`,
        `applications: [${entries.join(", ")}]`,
      ];
      await bot.push(one, { ".svc.yaml": `${lines.join("\n")}\n` });
      expect(bot.lastComment(one)).toContain("cannot be used");
    }
    expectHarmless(bot, one);
  });

  test("logins and commands of commenters are never repeated as they were", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    for (const text of TEXTS) await bot.forge.comment(REPOSITORY, one, "bo", `svc plan -a ${text}`);
    await bot.idle();
    expectHarmless(bot, one);
    const page = await (await fetch(`${bot.service.url}/`)).text();
    expect(page).not.toMatch(/<script|onerror/i);
  });
});
