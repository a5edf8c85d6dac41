import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, request as httpRequest, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import express from "express";
import { pino } from "pino";
import type { HostEvent } from "../../src/core/event.js";
import { createGitHubHost } from "../../src/hosts/github/host.js";
import { githubWebhook } from "../../src/hosts/github/webhook.js";
import { gitlabWebhook } from "../../src/hosts/gitlab/webhook.js";
import { rsaKey } from "../config/rsa-key.js";
import { recordingLog, type LogLine } from "../recording-log.js";
import { OPENED, commentOnPullRequest, example } from "./github-samples.js";
import { sample } from "./gitlab-samples.js";
import { skippingClock } from "./skipping-clock.js";

const GITHUB_SECRET = "example-webhook-secret";
const GITLAB_SECRET = "example-gitlab-secret-token";

const lines: LogLine[] = [];
const pushed: HostEvent[] = [];
let answerPush: () => Promise<boolean>;
let server: Server;
let origin: string;

beforeAll(async () => {
  const push = (event: HostEvent) => {
    pushed.push(event);
    return answerPush();
  };
  const log = recordingLog(lines);
  const { probot } = createGitHubHost(
    { appId: 1, privateKey: rsaKey(), aliases: [] },
    { clock: skippingClock(), log: pino({ level: "silent" }) },
  );
  const app = express();
  app.use(githubWebhook({ secret: GITHUB_SECRET, probot, push, log }));
  app.use(gitlabWebhook({ secret: GITLAB_SECRET, push, log }));
  app.use(express.json());
  server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

beforeEach(() => {
  lines.length = 0;
  pushed.length = 0;
  answerPush = () => Promise.resolve(true);
});

interface Sender {
  readonly path: string;
  /** A body that is an event of ours. */
  readonly event: () => unknown;
  readonly headers: (body: Buffer | string) => Record<string, string>;
}

const github: Sender = {
  path: "/webhook/hosta",
  event: () => example("pull_request", OPENED),
  headers: (body) => ({
    "content-type": "application/json",
    "x-github-event": "pull_request",
    "x-github-delivery": "0a1b2c3d-0000-4000-8000-000000000001",
    "x-hub-signature-256": `sha256=${createHmac("sha256", GITHUB_SECRET).update(body).digest("hex")}`,
  }),
};
const gitlab: Sender = {
  path: "/webhook/hostb",
  event: () => sample("merge_request.open"),
  headers: () => ({
    "content-type": "application/json",
    "idempotency-key": "0a1b2c3d-0000-4000-8000-000000000001",
    "x-gitlab-token": GITLAB_SECRET,
  }),
};
const senders = [
  ["GitHub", github],
  ["GitLab", gitlab],
] as const;

async function send(sender: Sender, body: Buffer | string, headers: Record<string, string | undefined> = {}) {
  const all = Object.entries({ ...sender.headers(body), ...headers }).filter(([, value]) => value !== undefined);
  const response = await fetch(`${origin}${sender.path}`, {
    method: "POST",
    body,
    headers: Object.fromEntries(all) as Record<string, string>,
  });
  return { status: response.status, body: await response.json() };
}

describe.each(senders)("%s's webhook", (_, sender) => {
  const body = () => JSON.stringify(sender.event());

  test("an event of ours is pushed once and answered 200", async () => {
    expect(await send(sender, body())).toEqual({ status: 200, body: { status: "accepted" } });
    expect(pushed).toHaveLength(1);
    expect(pushed[0]).toMatchObject({
      kind: "updated",
      reason: "opened",
      delivery: expect.stringMatching(/^host[ab]-0a1b2c3d-0000-4000-8000-000000000001$/),
    });
  });

  test("a repeated delivery is answered 200 and said to be ignored", async () => {
    answerPush = () => Promise.resolve(false);
    expect(await send(sender, body())).toEqual({
      status: 200,
      body: { status: "ignored", reason: "this delivery was accepted before" },
    });
  });

  test("the answer waits for the push and for nothing else", async () => {
    let accept: (fresh: boolean) => void = () => undefined;
    answerPush = () => new Promise((resolve) => (accept = resolve));
    let answered = false;
    const answer = send(sender, body()).finally(() => (answered = true));
    while (pushed.length === 0) await new Promise(setImmediate);
    expect(answered).toBe(false);
    accept(true);
    expect((await answer).status).toBe(200);
  });

  test("a queue that takes nothing is answered 503", async () => {
    answerPush = () => Promise.reject(new Error("closed"));
    expect((await send(sender, body())).status).toBe(503);
  });

  test.each([
    ["not JSON", "svc plan"],
    ["half a JSON", '{"action":"ope'],
    ["an empty body", ""],
    ["null", "null"],
    ["a number", "5"],
    ["a list", "[]"],
    ["a form", "payload=%7B%7D"],
  ])("%s is answered 400", async (_name, text) => {
    expect((await send(sender, text)).status).toBe(400);
    expect(pushed).toEqual([]);
  });

  test("bytes that are no UTF-8 still match their signature", async () => {
    expect((await send(sender, Buffer.from([0x7b, 0xff, 0xfe, 0x7d]))).status).toBe(400);
  });

  test("an encoded body is answered 415 before its secret is looked at", async () => {
    const headers = { "content-encoding": "gzip", "x-gitlab-token": "wrong", "x-hub-signature-256": "wrong" };
    expect((await send(sender, body(), headers)).status).toBe(415);
  });

  test("an object that is no event is answered 200", async () => {
    expect(await send(sender, "{}")).toMatchObject({ status: 200, body: { status: "ignored" } });
    expect(await send(sender, '{"installation":{"id":"x"},"action":7}')).toMatchObject({ status: 200 });
  });

  test("without a delivery id the body gives one, the same each time", async () => {
    const without = { "x-github-delivery": undefined, "idempotency-key": undefined };
    await send(sender, body(), without);
    await send(sender, body(), without);
    await send(sender, `${body()} `, { "x-github-delivery": "a:b", "idempotency-key": "a:b" });
    const [first, second, third] = pushed.map(({ delivery }) => delivery);
    expect(first).toMatch(/^host[ab]-[0-9a-f]{64}$/);
    expect(second).toBe(first);
    expect(third).toMatch(/^host[ab]-[0-9a-f]{64}$/);
    expect(third).not.toBe(first);
  });

  test("a declared length over 25 MB is answered 413 before the body is sent", async () => {
    const headers = { "content-length": String(26 * 1024 * 1024) };
    const outgoing = httpRequest(`${origin}${sender.path}`, { method: "POST", headers });
    outgoing.on("error", () => undefined);
    outgoing.write("{");
    const [response] = (await once(outgoing, "response")) as [{ statusCode: number }];
    expect(response.statusCode).toBe(413);
    outgoing.destroy();
  });

  test("a body of unknown length is answered 413 as soon as it passes 25 MB", async () => {
    const outgoing = httpRequest(`${origin}${sender.path}`, { method: "POST" });
    outgoing.on("error", () => undefined);
    const answered = once(outgoing, "response") as Promise<[{ statusCode: number }]>;
    const chunk = Buffer.alloc(1024 * 1024, "x");
    for (let sent = 0; sent < 26; sent += 1) outgoing.write(chunk);
    // The request is never ended.
    expect((await answered)[0].statusCode).toBe(413);
    outgoing.destroy();
  });

  test("a body that is longer than its declared length is cut there, and refused", async () => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.write(`POST ${sender.path} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}${"x".repeat(100)}`);
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 40[01] /);
    expect(pushed).toEqual([]);
    socket.destroy();
  });

  test("exactly 25 MB are read", async () => {
    const big = Buffer.alloc(25 * 1024 * 1024, " ");
    expect((await send(sender, big)).status).toBe(400);
  });
});

describe("secrets", () => {
  test.each<[string, Sender, Record<string, string | undefined>]>([
    ["no signature", github, { "x-hub-signature-256": undefined }],
    ["an empty signature", github, { "x-hub-signature-256": "" }],
    ["another signature", github, { "x-hub-signature-256": `sha256=${"0".repeat(64)}` }],
    ["a short signature", github, { "x-hub-signature-256": "sha256=00" }],
    ["only the old SHA-1 signature", github, { "x-hub-signature-256": undefined, "x-hub-signature": "sha1=00" }],
    ["a token instead of a signature", github, { "x-hub-signature-256": undefined, "x-gitlab-token": GITLAB_SECRET }],
    ["no token", gitlab, { "x-gitlab-token": undefined }],
    ["an empty token", gitlab, { "x-gitlab-token": "" }],
    ["another token", gitlab, { "x-gitlab-token": "Example-gitlab-secret-token" }],
    ["a part of the token", gitlab, { "x-gitlab-token": GITLAB_SECRET.slice(0, -1) }],
    ["the token twice", gitlab, { "x-gitlab-token": `${GITLAB_SECRET}, ${GITLAB_SECRET}` }],
  ])("%s is answered 401 and logged without the secret", async (_, sender, headers) => {
    expect(await send(sender, JSON.stringify(sender.event()), headers)).toEqual({
      status: 401,
      body: { error: "webhook secret mismatch" },
    });
    expect(pushed).toEqual([]);
    expect(lines).toContainEqual(expect.objectContaining({ level: "warn", text: "webhook secret mismatch" }));
    expect(JSON.stringify(lines)).not.toContain(GITLAB_SECRET.slice(1));
  });

  test("a changed byte breaks the signature", async () => {
    const body = JSON.stringify(github.event());
    const headers = github.headers(body);
    expect((await send(github, `${body} `, headers)).status).toBe(401);
  });

  test("a known signature over a published example", async () => {
    const body = `${JSON.stringify(example("pull_request", OPENED), null, 2)}\n`;
    const signature = "sha256=909babb94f5c243f7449cbf2908342a2c9a145de90f3c849031fefb9d233ae3c";
    expect((await send(github, body, { "x-hub-signature-256": signature })).status).toBe(200);
  });

  test("the neutral header name works beside GitLab's own", async () => {
    const headers = { "x-gitlab-token": undefined, "x-hostb-token": GITLAB_SECRET };
    expect((await send(gitlab, JSON.stringify(gitlab.event()), headers)).status).toBe(200);
  });

  test("an empty secret is refused at once", () => {
    const parts = { push: () => Promise.resolve(true), log: recordingLog() };
    expect(() => gitlabWebhook({ secret: "", ...parts })).toThrow(RangeError);
    const { probot } = createGitHubHost(
      { appId: 1, privateKey: rsaKey(), aliases: [] },
      { clock: skippingClock(), log: pino({ level: "silent" }) },
    );
    expect(() => githubWebhook({ secret: "", probot, ...parts })).toThrow(RangeError);
  });
});

describe("events that are not ours", () => {
  test.each([
    ["ping", { zen: "x", hook_id: 1 }],
    ["installation", { action: "created", installation: { id: 5 } }],
    ["check_suite", { action: "requested" }],
    ["hologram", {}],
    ["", {}],
    ["issue_comment", example("issue_comment", 3)],
    ["issue_comment", commentOnPullRequest({ action: "edited" })],
  ])("GitHub's %s is answered 200", async (name, payload) => {
    const answer = await send(github, JSON.stringify(payload), { "x-github-event": name });
    expect(answer).toMatchObject({ status: 200, body: { status: "ignored", reason: expect.any(String) } });
    expect(pushed).toEqual([]);
  });

  test("GitLab's kind is read from the body, whatever the header says", async () => {
    const answer = await send(gitlab, JSON.stringify(sample("note.on-mr.create")), { "x-gitlab-event": "Push Hook" });
    expect(answer.body).toEqual({ status: "accepted" });
    expect(pushed[0]).toMatchObject({ kind: "commented", body: "svc plan" });
  });

  test("two deliveries at the same time keep their own outcome", async () => {
    const [ours, other] = await Promise.all([
      send(github, JSON.stringify(github.event())),
      send(github, JSON.stringify(commentOnPullRequest({ action: "edited" })), { "x-github-event": "issue_comment" }),
    ]);
    expect(ours.body).toEqual({ status: "accepted" });
    expect(other.body).toMatchObject({ status: "ignored" });
  });
});
