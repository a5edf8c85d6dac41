import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { signature } from "../../../sandbox/gitlab/hooks/hook-sender.js";
import { listenOnLoopback } from "../../../sandbox/loopback.js";
import { repository, secret, signingToken, startWorld, type Received, type World } from "./world.js";

const fixtures = new URL("../../fixtures/gitlab/", import.meta.url);

let world: World;
let number: number;
beforeEach(async () => {
  world = await startWorld();
  number = await world.forge.open({ repository, by: "ana", changes: { "apps/web.yaml": "replicas: 2\n" } });
});
afterEach(async () => {
  await world.stop();
});

function last(): Received {
  const received = world.received.at(-1);
  if (received === undefined) throw new Error("No webhook came");
  return received;
}

describe("deliveries", () => {
  test("carry the secret, a signature and ids", async () => {
    const { headers, text } = last();
    expect(headers).toMatchObject({
      "content-type": "application/json",
      "x-gitlab-event": "Merge Request Hook",
      "x-gitlab-token": secret,
      "x-gitlab-instance": world.forge.url,
    });
    const id = String(headers["idempotency-key"]);
    expect(headers["webhook-id"]).toBe(id);
    const at = new Date(Number(headers["webhook-timestamp"]) * 1000);
    expect(headers["webhook-signature"]).toBe(signature(signingToken, id, at, text)["webhook-signature"]);
    expect(world.forge.deliveries.at(-1)).toEqual({ event: "Merge Request Hook", id, status: 200, body: "accepted" });
  });

  test("have no signature without a signing token, and go nowhere without a receiver", async () => {
    const { url } = world.forge;
    world.forge.connect({ url, secret: "other" });
    await world.forge.comment(repository, number, "ana", "svc plan");
    expect(world.forge.deliveries.at(-1)).toMatchObject({ event: "Note Hook", status: 404 });
    const bare = await startWorld();
    bare.forge.connect({ url: "http://127.0.0.1:1/", secret });
    await bare.forge.open({ repository, by: "ana", changes: { "apps/web.yaml": "replicas: 2\n" } });
    expect(bare.forge.deliveries).toMatchObject([{ status: 0 }]);
    await bare.stop();
  });

  test("come again word for word under the same key", async () => {
    const first = last();
    await world.forge.comment(repository, number, "ana", "svc plan");
    await world.forge.redeliver(String(first.headers["idempotency-key"]));
    const again = last();
    expect(again.text).toBe(first.text);
    expect(again.headers["idempotency-key"]).toBe(first.headers["idempotency-key"]);
    expect(again.headers["x-gitlab-webhook-uuid"]).not.toBe(first.headers["x-gitlab-webhook-uuid"]);
    await expect(world.forge.redeliver("unknown")).rejects.toThrow("unknown");
  });

  test("are signed as in the scheme's example", () => {
    const body = readFileSync(new URL("note.on-mr.internal.json", fixtures), "utf8");
    const headers = signature(signingToken, "00000000-0000-4000-9000-000000000018", new Date(1772450000_000), body);
    expect(headers["webhook-signature"]).toBe("v1,oSOLS3U3TSvWPwsXyG89tMmDLH5YX/6VpaSq426JlAc=");
  });
});

test("calls of the API do not wait for the webhooks that they cause, the acts of people do", async () => {
  let release: (() => void) | undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const slow = await listenOnLoopback((_request, response) => void held.then(() => response.end("late")));
  world.forge.connect({ url: slow.url, secret });
  await world.client.MergeRequestNotes.create(repository, number, "A plan");
  const before = world.forge.deliveries.length;
  const comment = world.forge.comment(repository, number, "ana", "svc plan");
  release?.();
  await comment;
  await world.forge.idle();
  expect(world.forge.deliveries.slice(before)).toMatchObject([{ body: "late" }, { body: "late" }]);
  await slow.stop();
});
