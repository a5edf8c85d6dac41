import { createHmac, timingSafeEqual } from "node:crypto";
import type { AddressInfo } from "node:net";
import express from "express";
import { Redis } from "ioredis";

// The least that a webhook receiver can do: verify the signature and write the event to Redis once.
const [port = "", secret = ""] = process.argv.slice(2);
const redis = new Redis({ host: "127.0.0.1", port: Number(port) });
const app = express();
app.post("/webhook", express.raw({ type: "*/*", limit: "25mb" }), async (request, response) => {
  const body: unknown = request.body;
  if (!Buffer.isBuffer(body)) throw new Error("the body is not raw bytes");
  const expected = Buffer.from(`sha256=${createHmac("sha256", secret).update(body).digest("hex")}`);
  const given = Buffer.from(request.get("x-hub-signature-256") ?? "");
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    response.sendStatus(401);
    return;
  }
  await redis.rpush("bare", body);
  response.json({ status: "accepted" });
});
const server = app.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}/webhook\n`);
});
