import { createHmac, randomUUID } from "node:crypto";
import { afterEach, describe, expect, test } from "@jest/globals";
import { signature } from "../../sandbox/gitlab/hooks/hook-sender.js";
import { collectGarbage } from "../collect-garbage.js";
import { scrape } from "../observe/metrics/scrape.js";
import { RawConnection } from "../raw-connection.js";
import { freePort } from "../redis-server.js";
import { HOSTS, SECRET, startBot, type Bot } from "../scenarios/bot.js";

const MIB = 1024 * 1024;
const CONNECTIONS = 80;
const ANNOUNCED = 24 * MIB;
const SIGNING_TOKEN = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

const open = new Set<RawConnection>();
afterEach(() => {
  for (const connection of open) connection.close();
  open.clear();
});

/** Connections of as many senders, which each announce a large body. */
async function attack(bot: Bot, headers: Readonly<Record<string, string>>): Promise<readonly RawConnection[]> {
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => RawConnection.open(bot.service.url)));
  connections.forEach((connection, index) => {
    open.add(connection);
    const sender = { "x-forwarded-for": `203.0.113.${index}`, "content-length": ANNOUNCED };
    connection.post(`/webhook/${bot.host}`, { "content-type": "application/json", ...headers, ...sender });
  });
  return connections;
}

/** What a sender who does not know the secret can put there, so that the body has to be read. */
function wellFormed(bot: Bot): Readonly<Record<string, string>> {
  return bot.host === "hosta"
    ? { "x-hub-signature-256": `sha256=${"0".repeat(64)}` }
    : {
        "webhook-id": randomUUID(),
        "webhook-timestamp": String(Math.floor(bot.clock.now().getTime() / 1000)),
        "webhook-signature": `v1,${Buffer.alloc(32).toString("base64")}`,
      };
}

/** An authentic delivery, as small as they are. */
async function deliver(bot: Bot): Promise<number> {
  const body = JSON.stringify({ object_kind: "pipeline", text: "x".repeat(20_000) });
  const hmac = createHmac("sha256", SECRET).update(body).digest("hex");
  const signed =
    bot.host === "hosta"
      ? { "x-hub-signature-256": `sha256=${hmac}`, "x-github-event": "star" }
      : signature(SIGNING_TOKEN, randomUUID(), bot.clock.now(), body);
  const headers = { "content-type": "application/json", "x-gitlab-token": SECRET, ...signed };
  const response = await fetch(`${bot.service.url}/webhook/${bot.host}`, { method: "POST", body, headers });
  await response.body?.cancel();
  return response.status;
}

describe.each(HOSTS)("large bodies to %s's webhook", (host) => {
  test("without the secret are refused before a byte of them is read, and the connection is closed", async () => {
    const bot = await startBot({ host });
    const attackers = await attack(bot, {});
    for (const attacker of attackers) {
      expect(await attacker.answer()).toMatchObject({
        status: 401,
        head: expect.stringContaining("connection: close"),
      });
    }
    // Nobody has to send the rest: it is not waited for.
    await Promise.all(attackers.map(({ closed }) => closed));
    expect(await deliver(bot)).toBe(200);
  });

  test("that look signed take 64 MiB at most; ordinary deliveries are accepted meanwhile; the memory comes back", async () => {
    const port = await freePort();
    const config: Record<string, Record<string, unknown>> = { server: { metrics_port: port, trust_proxy: true } };
    if (host === "hostb") config.hostb = { signing_token: SIGNING_TOKEN };
    const bot = await startBot({ host, config });
    const held = async () => (await scrape(port)).get("svc_webhook_body_bytes")?.samples[0]?.value ?? Number.NaN;
    collectGarbage();
    const before = process.memoryUsage().arrayBuffers;

    const attackers = await attack(bot, wellFormed(bot));
    const piece = Buffer.alloc(2 * MIB, " ");
    for (const attacker of attackers) attacker.write(piece);
    const refused = await Promise.race(attackers.map((attacker) => attacker.answer()));
    expect(refused).toMatchObject({ status: 503, head: expect.stringContaining("retry-after: 10") });
    const highest = await held();
    expect(highest).toBeGreaterThan(20 * MIB);
    expect(highest).toBeLessThanOrEqual(52 * MIB);
    expect(await deliver(bot)).toBe(200);

    for (const attacker of attackers) attacker.close();
    await Promise.all(attackers.map(({ closed }) => closed));
    while ((await held()) > 0) await new Promise(setImmediate);
    // The server's side closes a little later, and V8 frees buffers in the background. Memory that is kept ends the test.
    do {
      await new Promise(setImmediate);
      collectGarbage();
    } while (process.memoryUsage().arrayBuffers >= before + 8 * MIB);
    expect(await deliver(bot)).toBe(200);
  });
});
