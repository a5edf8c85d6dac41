import type { CheckResult } from "../config/check.js";
import type { SetupRequest } from "../config/command-line.js";
import { HostFailure } from "../core/model/errors.js";
import { CannotListen } from "../http/listen.js";
import { createWebhooks } from "./create-webhooks.js";
import { registerApp } from "./register-app.js";
import { type SetupParts, SetupRefused } from "./setup-parts.js";

/** Prepares a code host for svc. @returns What the operator has to know at the end. */
export async function setUp(request: SetupRequest, parts: SetupParts): Promise<CheckResult> {
  try {
    return { lines: await start(request, parts), exitCode: 0 };
  } catch (error) {
    // Their messages are written for people and hold no secret.
    const known = error instanceof SetupRefused || error instanceof HostFailure || error instanceof CannotListen;
    if (!known) throw error;
    return { lines: [error.message], exitCode: 1 };
  }
}

function start(request: SetupRequest, parts: SetupParts): Promise<readonly string[]> {
  switch (request.host) {
    case "hosta":
      return registerApp(request, parts);
    case "hostb":
      return createWebhooks(request, parts);
  }
}
