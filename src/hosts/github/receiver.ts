import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { Probot } from "probot";
import { quietLog } from "./client.js";

/**
 * The Probot app that webhooks go through. Its handlers only translate and push, so that it needs no access to GitHub:
 * with an App's key it would make a client for each event, and nobody would use it.
 */
export function createReceiver(log: Logger): Probot {
  return new Probot({
    githubToken: "none",
    // Deliveries are verified in front of Probot; without a value it would take a well-known word.
    secret: randomUUID(),
    log: quietLog(log),
  });
}
