import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import express from "express";
import type { HostEvent } from "../../src/core/model/event.js";
import { createGitHubHost } from "../../src/hosts/github/host.js";
import { githubWebhook } from "../../src/hosts/github/webhook.js";
import { gitlabWebhook } from "../../src/hosts/gitlab/webhook.js";
import { BodyBudget } from "../../src/hosts/receive-body.js";
import { rsaKey } from "../config/rsa-key.js";
import { recordingLog } from "../recording-log.js";
import { keptLogger } from "../secrets-in-logs/kept-logger.js";
import { commentOnPullRequest, example, OPENED } from "./github-samples.js";
import { sample } from "./gitlab-samples.js";
import { hostParts } from "./host-parts.js";
import { skippingClock } from "./skipping-clock.js";

const GITHUB_SECRET = "example-webhook-secret";
const GITLAB_SECRET = "example-gitlab-secret-token";

const pushed: HostEvent[] = [];
let answerPush: () => Promise<boolean>;
let server: Server;
let origin: string;

const unsigned = { signingToken: undefined, clock: skippingClock(), log: recordingLog() };
const probot = () =>
  createGitHubHost(
    { appId: 1, privateKey: rsaKey(), aliases: [] },
    hostParts(skippingClock(), keptLogger(GITHUB_SECRET)),
  ).probot;

beforeAll(async () => {
  const push = (event: HostEvent) => {
    pushed.push(event);
    return answerPush();
  };
  const app = express();
  const intake = { push, bodies: new BodyBudget(), onBranchPushed: () => undefined, countRefusal: () => undefined };
  const routes = [
    githubWebhook({ ...intake, secret: GITHUB_SECRET, probot: probot(), log: recordingLog() }),
    gitlabWebhook({ ...intake, secret: GITLAB_SECRET, ...unsigned }),
  ];
  for (const { path, post } of routes) app.post(path, post);
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
    "x-github-event": "pull_request",
    "x-github-delivery": "0a1b2c3d-0000-4000-8000-000000000001",
    "x-hub-signature-256": `sha256=${createHmac("sha256", GITHUB_SECRET).update(body).digest("hex")}`,
  }),
};
const gitlab: Sender = {
  path: "/webhook/hostb",
  event: () => sample("merge_request.open"),
  headers: () => ({ "idempotency-key": "0a1b2c3d-0000-4000-8000-000000000001", "x-gitlab-token": GITLAB_SECRET }),
};

async function send(sender: Sender, body: Buffer | string, headers: Record<string, string> = {}) {
  const all = { "content-type": "application/json", ...sender.headers(body), ...headers };
  const response = await fetch(`${origin}${sender.path}`, { method: "POST", body, headers: all });
  return { status: response.status, body: await response.json() };
}

describe.each([
  ["GitHub", github],
  ["GitLab", gitlab],
])("%s's webhook", (_, sender) => {
  const body = () => JSON.stringify(sender.event());

  test("the delivery's own id becomes ours", async () => {
    expect(await send(sender, body())).toEqual({ status: 200, body: { status: "accepted" } });
    const delivery = expect.stringMatching(/^host[ab]-0a1b2c3d-0000-4000-8000-000000000001$/);
    expect(pushed).toEqual([expect.objectContaining({ delivery })]);
  });

  test("an id that cannot be part of a key is replaced by a digest", async () => {
    await send(sender, body(), { "x-github-delivery": "a:b", "idempotency-key": "a:b" });
    expect(pushed[0]?.delivery).toMatch(/^host[ab]-[0-9a-f]{64}$/);
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

  test("an encoded body is answered 415 before its secret is looked at", async () => {
    const headers = { "content-encoding": "gzip", "x-gitlab-token": "wrong", "x-hub-signature-256": "wrong" };
    expect((await send(sender, body(), headers)).status).toBe(415);
  });
});

test("only the old SHA-1 signature is answered 401", async () => {
  const body = JSON.stringify(github.event());
  const sha1 = `sha1=${createHmac("sha1", GITHUB_SECRET).update(body).digest("hex")}`;
  expect((await send(github, body, { "x-hub-signature-256": "", "x-hub-signature": sha1 })).status).toBe(401);
});

test("a known signature over a published example", async () => {
  const body = `${JSON.stringify(example("pull_request", OPENED), null, 2)}\n`;
  const signature = "sha256=909babb94f5c243f7449cbf2908342a2c9a145de90f3c849031fefb9d233ae3c";
  expect((await send(github, body, { "x-hub-signature-256": signature })).status).toBe(200);
});

test("an empty secret is refused at once", () => {
  const intake = {
    push: () => Promise.resolve(true),
    bodies: new BodyBudget(),
    onBranchPushed: () => undefined,
    countRefusal: () => undefined,
  };
  expect(() => gitlabWebhook({ ...intake, secret: "", ...unsigned })).toThrow(RangeError);
  expect(() => githubWebhook({ ...intake, secret: "", probot: probot(), log: recordingLog() })).toThrow(RangeError);
});

test("GitLab before 17.4: an approval that is given again is news, and a comment that is delivered again is none", async () => {
  const old: Sender = { ...gitlab, headers: () => ({ "x-gitlab-token": GITLAB_SECRET }) };
  for (const name of ["merge_request.approved", "merge_request.approved", "note.on-mr.create", "note.on-mr.create"]) {
    await send(old, JSON.stringify(sample(name)));
  }
  const [approved, again, comment, same] = pushed.map(({ delivery }) => delivery);
  expect(again).not.toBe(approved);
  expect(same).toBe(comment);
});

test("GitLab's kind is read from the body, whatever the header says", async () => {
  await send(gitlab, JSON.stringify(sample("note.on-mr.create")), { "x-gitlab-event": "Push Hook" });
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
