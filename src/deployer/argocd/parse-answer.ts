import type { z } from "zod";
import { ArgoCdFailure } from "./argocd-failure.js";

/** @throws {ArgoCdFailure} that names the members which are not as expected; never their values. */
export function parseAnswer<T>(schema: z.ZodType<T>, answer: unknown, what: string): T {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  const members = parsed.error.issues.slice(0, 3).map((issue) => issue.path.join(".") || "the answer itself");
  const message = `Argo CD's answer about ${what} is not as expected (${members.join(", ")}): is deployer.server_url right?`;
  throw new ArgoCdFailure("failed", message, { maybeDone: true, cause: parsed.error });
}
