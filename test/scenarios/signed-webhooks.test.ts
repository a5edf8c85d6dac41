import { randomUUID } from "node:crypto";
import { expect, test } from "@jest/globals";
import { signature } from "../../sandbox/gitlab/hooks/hook-sender.js";
import { REPOSITORY, SECRET, startBot, type Bot } from "./bot.js";

const SIGNING_TOKEN = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** A GitLab whose webhook has a signing token, and a service that was told so, but of a secret token only if it is given. */
async function startSigned(secret: { readonly webhook_secret?: string } = {}): Promise<Bot> {
  const bot = await startBot({ host: "hostb", config: { hostb: { signing_token: SIGNING_TOKEN, ...secret } } });
  bot.forge.connect({ url: urlOf(bot), secret: SECRET, signingToken: SIGNING_TOKEN });
  return bot;
}

function urlOf(bot: Bot): string {
  return `${bot.service.url}/webhook/hostb`;
}

/** Sends a command by itself, as somebody who reaches the service would; the plain token is always right. */
async function sendCommand(bot: Bot, number: number, headers: (body: string) => Readonly<Record<string, string>>) {
  const body = JSON.stringify({
    object_kind: "note",
    project: { id: Number(bot.forge.repositoryId(REPOSITORY)), path_with_namespace: REPOSITORY },
    user: { id: 1, username: "ana" },
    object_attributes: { id: 1, note: "svc plan", noteable_type: "MergeRequest", action: "create", author_id: 1 },
    merge_request: { iid: number },
  });
  const response = await fetch(urlOf(bot), {
    method: "POST",
    body,
    headers: { "content-type": "application/json", "x-gitlab-token": SECRET, ...headers(body) },
  });
  return { status: response.status, body: await response.json() };
}

const mismatch = { status: 401, body: { error: "webhook secret mismatch" } };

test.each([
  ["with", { webhook_secret: SECRET }],
  ["without", {}],
])("signed webhooks are planned as any others, %s a secret token in the configuration", async (_how, secret) => {
  const bot = await startSigned(secret);
  const number = await bot.open({ "apps/web/values.yaml": "value: two\n" });
  expect(bot.forge.deliveries.map(({ status }) => status)).not.toContain(401);
  expect(bot.answers(number).length).toBeGreaterThan(0);
});

test("a delivery that comes again runs once", async () => {
  const bot = await startSigned();
  const number = await bot.open({ "README.md": "two\n" });
  const id = randomUUID();
  const at = bot.clock.now();
  const signed = (body: string) => signature(SIGNING_TOKEN, id, at, body);
  const before = bot.answers(number).length;
  expect(await sendCommand(bot, number, signed)).toEqual({ status: 200, body: { status: "accepted" } });
  await bot.idle();
  expect(bot.answers(number)).toHaveLength(before + 1);
  // The header that is not under the signature does not make it another delivery.
  const again = await sendCommand(bot, number, (body) => ({ ...signed(body), "idempotency-key": randomUUID() }));
  expect(again).toEqual({ status: 200, body: { status: "ignored", reason: "this delivery was accepted before" } });
  await bot.idle();
  expect(bot.answers(number)).toHaveLength(before + 1);
});

test.each<[string, (bot: Bot, body: string) => Readonly<Record<string, string>>]>([
  ["the plain token alone", () => ({})],
  [
    "a signature with another key",
    (bot, body) => signature(`whsec_${Buffer.alloc(32, 8).toString("base64")}`, randomUUID(), bot.clock.now(), body),
  ],
  ["a signature over another body", (bot) => signature(SIGNING_TOKEN, randomUUID(), bot.clock.now(), "{}")],
  [
    "a signature of six minutes ago",
    (bot, body) => signature(SIGNING_TOKEN, randomUUID(), new Date(bot.clock.now().getTime() - 6 * 60_000), body),
  ],
])("%s is refused, and nothing is answered", async (_, headers) => {
  const bot = await startSigned();
  const number = await bot.open({ "README.md": "two\n" });
  const before = bot.answers(number).length;
  expect(await sendCommand(bot, number, (body) => headers(bot, body))).toEqual(mismatch);
  await bot.idle();
  expect(bot.answers(number)).toHaveLength(before);
});
