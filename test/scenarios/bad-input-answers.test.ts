import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Fault } from "../../sandbox/faults.js";
import { HOSTS, REPOSITORY, startBot } from "./bot.js";
import { changeOf } from "./resources.js";
import { startStrangeServer, type StrangeServer } from "./strange-server.js";

const WEB = changeOf(["web"]);
const HTML = "<!DOCTYPE html><html><body><form>Log in @team</form></body></html>";
const TITLES = { hosta: "GitHub", hostb: "GitLab" };
const WRITE_ACCESS = { hosta: /\/collaborators\/ana\/permission$/, hostb: /\/members\/all\/\d+$/ };

let elsewhere: StrangeServer;

beforeAll(async () => {
  elsewhere = await startStrangeServer();
});

afterAll(async () => {
  await elsewhere.stop();
});

function status(code: number): Fault {
  return { kind: "status", status: code, body: JSON.stringify({ message: `number ${code}` }) };
}

const html: Fault = { kind: "status", status: 200, body: HTML, headers: { "content-type": "text/html" } };
const redirect = (): Fault => ({ kind: "redirect", to: `${elsewhere.url}/api/v1/applications` });

/** How Argo CD answers, and what the reply says then. */
const ARGOCD: readonly (readonly [string, () => Fault, RegExp])[] = [
  ["401", () => status(401), /Argo CD does not accept argocd\.token/],
  ["403", () => status(403), /permission denied by something in front of Argo CD/],
  ["404", () => status(404), /Argo CD does not know GET \/api/],
  ["405", () => status(405), /Argo CD does not know GET \/api/],
  ["409", () => status(409), /Argo CD answered HTTP 409/],
  ["415", () => status(415), /Argo CD answered HTTP 415/],
  ["500", () => status(500), /Argo CD answered HTTP 500/],
  ["503", () => status(503), /failed to connect to Argo CD: HTTP 503/],
  ["HTML", () => html, /answered with an HTML page instead of JSON: check argocd\.server_url/],
  ["half a JSON", () => ({ kind: "half-json" }), /Argo CD's answer is incomplete or not JSON/],
  ["a redirect to another origin", redirect, /is not followed because of the token/],
  ["a dropped connection", () => ({ kind: "drop" }), /failed to connect to Argo CD/],
  ["nothing", () => ({ kind: "hang" }), /failed to connect to Argo CD: no answer within 1 s/],
];

/** How a code host answers the question for write access, and what the reply says then. */
const HOST_ANSWERS: readonly (readonly [string, () => Fault, (title: string) => string])[] = [
  ["401", () => status(401), (title) => `${title} refused the `],
  ["403", () => status(403), (title) => `${title} does not allow svc to `],
  ["409", () => status(409), (title) => `${title} refused to `],
  ["415", () => status(415), (title) => `${title} refused to `],
  ["500", () => status(500), (title) => `${title} failed (500)`],
  ["HTML", () => html, (title) => `${title} answered with a web page`],
  ["half a JSON", () => ({ kind: "half-json" }), (title) => `${title} answered with incomplete or invalid JSON`],
  ["a redirect to another origin", redirect, (title) => `${title} answered with a redirect to ${elsewhere.url}`],
  ["a dropped connection", () => ({ kind: "drop" }), (title) => `${title} could not be reached`],
  ["404", () => status(404), () => "has no write access"],
];

describe.each(HOSTS)("strange answers on %s", (host) => {
  test("of Argo CD, during a plan: 401, 403, 404, 405, 409, 415, 5xx, HTML, half a JSON, a redirect, nothing", async () => {
    const bot = await startBot({ host, config: { deployer: { request_timeout: "1s", render_timeout: "1s" } } });
    const one = await bot.open(WEB);
    for (const [name, fault, said] of ARGOCD) {
      bot.clock.advance(60_000);
      const remove = bot.argocd.faults.add({ path: /^\/api\/v1\/applications/, fault: fault() });
      await bot.comment(one, "svc plan");
      expect([name, bot.lastComment(one)]).toEqual([name, expect.stringMatching(said)]);
      await bot.comment(one, "svc sync");
      expect([name, bot.lastComment(one)]).toEqual([name, expect.stringMatching(said)]);
      remove();
    }
    expect(elsewhere.requests).toEqual([]);
    bot.clock.advance(60_000);
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("**Status:** Locked by this PR");
  });

  test("of Argo CD, to a render and to the start of a sync: the plan says could not be evaluated, the sync not started or not known", async () => {
    const bot = await startBot({ host, config: { deployer: { request_timeout: "1s", render_timeout: "1s" } } });
    const one = await bot.open(WEB);
    const text = (parts: readonly string[]) => new RegExp(parts.join("|"));
    for (const [name, fault] of ARGOCD) {
      const remove = bot.argocd.faults.add({ path: /\/web\/(?:manifests|sync)$/, fault: fault() });
      await bot.comment(one, "svc sync");
      const sync = text(["not started", "the outcome is not known"]);
      expect([name, bot.lastComment(one)]).toEqual([name, expect.stringMatching(sync)]);
      await bot.comment(one, "svc plan");
      expect([name, bot.lastComment(one)]).toEqual([name, expect.stringContaining("could not be evaluated")]);
      // What a sync of it reaches is not known any more.
      await bot.comment(one, "svc sync");
      expect([name, bot.lastComment(one)]).toEqual([name, expect.stringContaining("Plan for web is stale.")]);
      remove();
      await bot.comment(one, "svc plan");
    }
    expect(elsewhere.requests).toEqual([]);
    expect(bot.changes()).toEqual([]);
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("of the host, when asked for write access: never a permission, and the reply says what was answered", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(WEB);
    const asked = bot.argocd.requests.length;
    for (const [name, fault, said] of HOST_ANSWERS) {
      const remove = bot.forge.faults.add({ path: WRITE_ACCESS[host], fault: fault() });
      await bot.comment(one, "svc sync");
      remove();
      expect([name, bot.lastComment(one)]).toEqual([name, expect.stringContaining(said(TITLES[host]))]);
    }
    expect(elsewhere.requests).toEqual([]);
    expect(bot.argocd.requests).toHaveLength(asked);
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("of the host to git: a redirect to another origin is not followed, a refusal and a page are said", async () => {
    const bot = await startBot({ host, git: true });
    const one = await bot.open(WEB);
    const faults: readonly (readonly [string, Fault])[] = [
      ["a redirect", { kind: "redirect", to: `${elsewhere.url}/acme/deploy.git/info/refs?service=git-upload-pack` }],
      ["401", { kind: "status", status: 401, headers: { "www-authenticate": "Basic" } }],
      ["500", status(500)],
      ["HTML", html],
      ["a dropped connection", { kind: "drop" }],
    ];
    let value = 10;
    for (const [name, fault] of faults) {
      const remove = bot.forge.faults.add({ path: /\.git\//, fault });
      await bot.push(one, changeOf(["web"], String((value += 1))));
      remove();
      expect([name, bot.lastComment(one)]).toEqual([
        name,
        expect.stringContaining("The command could not be finished"),
      ]);
      expect([name, bot.lastComment(one)]).toEqual([name, expect.stringContaining(REPOSITORY)]);
    }
    expect(elsewhere.requests).toEqual([]);
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain(`+  value: "${value}"`);
  });

  test("nothing from the host keeps no other PR waiting, and the command goes on once it answers", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(WEB);
    const two = await bot.open(changeOf(["api"]));
    bot.expectChanges("sync web", "sync api");
    let goOn = (): void => undefined;
    const released = new Promise<void>((resolve) => (goOn = resolve));
    const waits = new Promise<void>((resolve) => {
      bot.meanwhile("forge", { path: WRITE_ACCESS[host] }, () => {
        resolve();
        return released;
      });
    });
    await bot.forge.comment(REPOSITORY, one, "ana", "svc sync");
    await waits;
    await bot.forge.comment(REPOSITORY, two, "ana", "svc sync");
    await untilSynced(bot, "api");
    expect(bot.liveValue("web")).toBeUndefined();
    goOn();
    await bot.idle();
    expect(bot.liveValue("web")).toBe("2");
  });
});

/** Resolves with the change of the cluster that a sync of this application makes. */
async function untilSynced(bot: Awaited<ReturnType<typeof startBot>>, name: string): Promise<void> {
  while (bot.liveValue(name) === undefined) {
    await new Promise<void>((resolve) => {
      const stop = bot.argocd.subscribe(() => {
        stop();
        resolve();
      });
    });
  }
}
