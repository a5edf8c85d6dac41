import { createHmac, randomUUID } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, SECRET, startBot, type Bot } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";

type Headers = Readonly<Record<string, string>>;

/** A comment `svc sync` by somebody with write access, as either host sends it. */
function command(number: number): string {
  const author = { id: 1, login: "ana", username: "ana", type: "User" };
  return JSON.stringify({
    action: "created",
    object_kind: "note",
    repository: { full_name: REPOSITORY },
    project: { path_with_namespace: REPOSITORY },
    issue: { number, pull_request: {} },
    merge_request: { iid: number },
    comment: { id: 9, body: "svc sync", user: author },
    user: author,
    object_attributes: { id: 9, note: "svc sync", noteable_type: "MergeRequest", action: "create", author_id: 1 },
  });
}

function hmac(algorithm: string, secret: string, body: string): string {
  return createHmac(algorithm, secret).update(body).digest("hex");
}

/** What an outsider who does not know the secret may try. */
const FORGERIES: Readonly<Record<HostId, Readonly<Record<string, (body: string) => Headers>>>> = {
  hosta: {
    "no signature": () => ({}),
    "an empty one": () => ({ "x-hub-signature-256": "" }),
    "the prefix alone": () => ({ "x-hub-signature-256": "sha256=" }),
    "another secret": (body) => ({ "x-hub-signature-256": `sha256=${hmac("sha256", "development", body)}` }),
    "an empty secret": (body) => ({ "x-hub-signature-256": `sha256=${hmac("sha256", "", body)}` }),
    "a signature of other bytes": () => ({ "x-hub-signature-256": `sha256=${hmac("sha256", SECRET, "{}")}` }),
    "the right digest of another algorithm": (body) => ({
      "x-hub-signature-256": `sha512=${hmac("sha512", SECRET, body)}`,
    }),
    "the old SHA-1 header": (body) => ({ "x-hub-signature": `sha1=${hmac("sha1", SECRET, body)}` }),
    "the beginning of the right one": (body) => ({
      "x-hub-signature-256": `sha256=${hmac("sha256", SECRET, body).slice(0, 32)}`,
    }),
    "the other host's header": () => ({ "x-gitlab-token": SECRET }),
  },
  hostb: {
    "no token": () => ({}),
    "an empty one": () => ({ "x-gitlab-token": "" }),
    "another one": () => ({ "x-gitlab-token": "development" }),
    "the beginning of the right one": () => ({ "x-gitlab-token": SECRET.slice(0, -1) }),
    "the right one with more behind it": () => ({ "x-gitlab-token": `${SECRET}0` }),
    "the right one in other letters": () => ({ "x-gitlab-token": SECRET.toUpperCase() }),
    "two of them": () => ({ "x-gitlab-token": `development, ${SECRET}` }),
    "the other host's signature": (body) => ({ "x-hub-signature-256": `sha256=${hmac("sha256", SECRET, body)}` }),
    "the right one as a bearer": () => ({ authorization: `Bearer ${SECRET}` }),
  },
};

async function send(bot: Bot, body: string, headers: Headers, path = `/webhook/${bot.host}`) {
  const response = await fetch(`${bot.service.url}${path}`, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "x-github-event": "issue_comment",
      "x-github-delivery": randomUUID(),
      "x-gitlab-event": "Note Hook",
      "idempotency-key": randomUUID(),
      ...headers,
    },
  });
  return { status: response.status, text: await response.text() };
}

describe.each(HOSTS)("forged webhooks on %s", (host) => {
  test("without the secret no delivery is read: 401, and neither the host nor Argo CD is asked anything", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const asked = () => [bot.forge.requests.length, bot.argocd.requests.length];
    const before = asked();
    for (const [name, headers] of Object.entries(FORGERIES[host])) {
      const { status, text } = await send(bot, command(one), headers(command(one)));
      expect([name, status, text]).toEqual([name, 401, '{"error":"webhook secret mismatch"}']);
    }
    await bot.idle();
    expect(asked()).toEqual(before);
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("where svc polls and has no secret, no delivery is taken, however it is signed", async () => {
    const bot = await startBot({ host, hookless: true, config: { [host]: { poll: "1h" } } });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.answers(one)).toEqual([]);
    const body = command(one);
    const forgeries = {
      ...FORGERIES[host],
      "the word undefined": (said: string) => ({
        "x-hub-signature-256": `sha256=${hmac("sha256", "undefined", said)}`,
        "x-gitlab-token": "undefined",
      }),
    };
    for (const [name, headers] of Object.entries(forgeries)) {
      expect([name, (await send(bot, body, headers(body))).status]).toEqual([name, 404]);
    }
    await bot.idle();
    expect(bot.forge.requests.filter(({ path }) => /\/(?:pulls|issues|merge_requests)\//.test(path))).toEqual([]);
    expect([bot.answers(one), await bot.locked(one)]).toEqual([[], []]);
  });

  test("the secret in the address, and addresses that only look like the route, open nothing", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const before = bot.answers(one).length;
    const paths = [`/webhook/${host}?token=${SECRET}`, `/webhook/${host}?x-gitlab-token=${SECRET}`];
    for (const path of paths) expect((await send(bot, command(one), {}, path)).status).toBe(401);
    for (const path of ["/webhook", `/webhook/${host}/x`, `/webhook//${host}`, `/x/../webhook/other`]) {
      expect([path, (await send(bot, command(one), {}, path)).status]).toEqual([path, 404]);
    }
    await bot.idle();
    expect(bot.answers(one)).toHaveLength(before);
  });

  test("the right secret on a payload that is nonsense, or nested without end, neither runs anything nor hinders the next", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({ "README.md": "2\n" });
    const before = bot.answers(one).length;
    const deep = `{"object_kind":"note","a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    const polluting = `{"__proto__":{"action":"created"},"constructor":{"prototype":{"action":"created"}},"object_kind":"note"}`;
    const bodies = [
      deep,
      polluting,
      command(one).replaceAll(REPOSITORY, "../../etc/passwd"),
      command(one).replaceAll(REPOSITORY, "acme/deploy/pulls/1/merge?x="),
      command(one).replaceAll(`"number":${one}`, '"number":-1').replaceAll(`"iid":${one}`, '"iid":-1'),
      command(one).replaceAll(`"number":${one}`, '"number":"1/merge"').replaceAll(`"iid":${one}`, '"iid":"1/merge"'),
    ];
    for (const body of bodies) {
      const right = { "x-hub-signature-256": `sha256=${hmac("sha256", SECRET, body)}`, "x-gitlab-token": SECRET };
      const { status } = await send(bot, body, right);
      expect([body.slice(0, 60), status]).toEqual([body.slice(0, 60), 200]);
    }
    await bot.idle();
    expect(bot.answers(one)).toHaveLength(before);
    await bot.comment(one, "svc help");
    expect(bot.lastComment(one)).toContain("## svc Help");
  });
});
