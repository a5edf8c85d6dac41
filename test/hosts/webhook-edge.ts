import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { signature } from "../../sandbox/gitlab/hooks/hook-sender.js";
import type { HostEvent } from "../../src/core/model/event.js";
import { gitlabWebhook } from "../../src/hosts/gitlab/webhook.js";
import { BODY_LIMITS, BodyBudget, type BodyLimits } from "../../src/hosts/receive-body.js";
import type { WebhookRefusal } from "../../src/hosts/webhook-route.js";
import { type LogLine, recordingLog } from "../recording-log.js";

const SIGNING_TOKEN = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const NOW = new Date("2026-03-02T09:14:07.000Z");
export const EDGE_PATH = "/webhook/hostb";

/** A webhook route alone on a port, with limits of its own. The host is a GitLab that signs. */
export interface WebhookEdge {
  readonly url: string;
  readonly bodies: BodyBudget;
  readonly refusals: readonly WebhookRefusal[];
  readonly events: readonly HostEvent[];
  readonly lines: readonly LogLine[];
  stop(): Promise<void>;
}

export async function startEdge(limits: Partial<BodyLimits> = {}): Promise<WebhookEdge> {
  const bodies = new BodyBudget({ ...BODY_LIMITS, ...limits });
  const refusals: WebhookRefusal[] = [];
  const events: HostEvent[] = [];
  const lines: LogLine[] = [];
  const { path, post } = gitlabWebhook({
    secret: "not asked for beside a signature",
    signingToken: SIGNING_TOKEN,
    clock: { now: () => NOW, sleep: () => Promise.resolve() },
    push: (event) => {
      events.push(event);
      return Promise.resolve(true);
    },
    bodies,
    onBranchPushed: () => undefined,
    countRefusal: (_, reason) => refusals.push(reason),
    log: recordingLog(lines),
  });
  const app = express().set("trust proxy", 1).post(path, post);
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    refusals,
    events,
    lines,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Headers of an authentic delivery of this body. */
export function signedHeaders(body: string): Readonly<Record<string, string>> {
  return { ...signature(SIGNING_TOKEN, randomUUID(), NOW, body), "content-length": String(Buffer.byteLength(body)) };
}

/** Headers that only the body proves wrong. */
export const FORGED: Readonly<Record<string, string>> = {
  "webhook-id": "forged-0001",
  "webhook-timestamp": String(NOW.getTime() / 1000),
  "webhook-signature": `v1,${Buffer.alloc(32).toString("base64")}`,
};
