import { createHmac } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { createRedisStores } from "../../src/store/redis/redis-stores.js";
import { recordingLog } from "../recording-log.js";
import { RedisServer } from "../redis-server.js";
import { HOSTS, SECRET, startBot, type Bot } from "./bot.js";
import { ServiceLog } from "./service-log.js";

const MISMATCH = { error: "webhook secret mismatch" };
const MAX_BYTES = 25 * 1024 * 1024;

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function request(bot: Bot, path: string, init?: RequestInit): Promise<Answer> {
  const response = await fetch(`${bot.service.url}${path}`, init);
  return { status: response.status, body: await response.json() };
}

/** A delivery to the scenario's own webhook, authentic unless other headers say otherwise. */
function deliver(bot: Bot, body: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const signature = createHmac("sha256", SECRET).update(body).digest("hex");
  const own: Record<string, string> =
    bot.host === "hosta"
      ? { "x-github-event": "pull_request", "x-github-delivery": "1", "x-hub-signature-256": `sha256=${signature}` }
      : { "x-gitlab-event": "Merge Request Hook", "x-gitlab-token": SECRET };
  return request(bot, `/webhook/${bot.host}`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...own, ...headers },
  });
}

const WRONG = {
  hosta: { "x-hub-signature-256": `sha256=${"0".repeat(64)}` },
  hostb: { "x-gitlab-token": "guess" },
} as const;
const MISSING = { hosta: { "x-hub-signature-256": "" }, hostb: { "x-gitlab-token": "" } } as const;

describe.each(HOSTS)("HTTP errors on %s", (host) => {
  test("webhook signature or token invalid or missing: 401, logged as 'webhook secret mismatch', and nothing is run", async () => {
    const log = new ServiceLog();
    const bot = await startBot({ host, log: log.write });
    for (const headers of [WRONG[host], MISSING[host]]) {
      expect(await deliver(bot, "{}", headers)).toEqual({ status: 401, body: MISMATCH });
    }
    expect(log.text).toContain("webhook secret mismatch");
    expect(log.text).not.toContain(SECRET);
    expect(await deliver(bot, "{}")).toMatchObject({ status: 200 });
  });

  test("a body that is no JSON object: 400; encoded: 415; over 25 MB: 413; an event that is not ours: 200", async () => {
    const bot = await startBot({ host });
    for (const body of ["", "hello", "[]", "null", '{"action":']) {
      expect(await deliver(bot, body)).toMatchObject({ status: 400, body: { error: expect.any(String) } });
    }
    expect(await deliver(bot, "{}", { "content-encoding": "gzip" })).toMatchObject({ status: 415 });
    expect(await deliver(bot, " ".repeat(MAX_BYTES + 1))).toMatchObject({ status: 413 });
    const unknown = { "x-github-event": "star", "x-gitlab-event": "Pipeline Hook" };
    expect(await deliver(bot, '{"object_kind":"pipeline","action":"created"}', unknown)).toEqual({
      status: 200,
      body: { status: "ignored", reason: expect.any(String) },
    });
  });

  test("a host that is not configured: 404", async () => {
    const bot = await startBot({ host });
    const other = host === "hosta" ? "hostb" : "hosta";
    const answer = await request(bot, `/webhook/${other}`, { method: "POST", body: "{}" });
    expect(answer).toEqual({ status: 404, body: { error: expect.any(String) } });
    expect(await request(bot, "/nothing/here")).toMatchObject({ status: 404 });
  });

  test("/ready while the store is unreachable: 503; /health: 200 whenever the server runs", async () => {
    const redis = await RedisServer.start();
    try {
      const stores = () => createRedisStores({ address: redis.address, db: 0, tls: false }, { log: recordingLog() });
      const bot = await startBot({ host, stores });
      const healthy = { status: 200, body: { status: "ok" } };
      expect(await request(bot, "/health")).toEqual(healthy);
      expect(await request(bot, "/ready")).toEqual({ status: 200, body: { status: "ready" } });
      await redis.kill();
      expect(await request(bot, "/ready")).toEqual({
        status: 503,
        body: { status: "unavailable", error: expect.stringMatching(/^failed to connect to Redis: /) },
      });
      expect(await request(bot, "/health")).toEqual(healthy);
    } finally {
      await redis.stop();
    }
  });
});
