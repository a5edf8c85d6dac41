import { z } from "zod";
import { ArgoCdFailure } from "./argocd-failure.js";
import type { Client } from "./client.js";
import { parseAnswer } from "./parse-answer.js";

const versionAnswer = z.object({ Version: z.string().nullish() });
const userAnswer = z.object({ loggedIn: z.boolean().nullish(), username: z.string().nullish() });

/** Argo CD's version and the account of the token; both calls are answered without one, so that the answer must be read. */
export async function check(client: Client): Promise<{ readonly version: string; readonly account: string }> {
  const version = await client.call({ method: "GET", path: ["api", "version"], permission: "version, get" });
  const { Version } = parseAnswer(versionAnswer, version, "its version");
  const path = ["api", "v1", "session", "userinfo"];
  const user = await client.call({ method: "GET", path, permission: "session, get" });
  const { loggedIn, username } = parseAnswer(userAnswer, user, "the account of the token");
  if (loggedIn !== true) {
    const message = "Argo CD does not accept deployer.token: it is wrong, expired or revoked";
    throw new ArgoCdFailure("unauthenticated", message);
  }
  return { version: Version ?? "unknown", account: username ?? "unknown" };
}
