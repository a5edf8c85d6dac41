import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import type { BasicUser } from "../../config/server-config.js";
import type { Account } from "../../core/model/account.js";

const credentials = z.object({
  username: z.string().min(1).max(200),
  password: z.string().min(1).max(1000),
  return_to: z.string().optional(),
});

/** What the sign-in form or a program sent. */
export type Credentials = z.infer<typeof credentials>;

/** The credentials of a parsed body, or a sentence that names the first field that is wrong. */
export function readCredentials(body: unknown): Credentials | string {
  const parsed = credentials.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  const field = parsed.error.issues[0]?.path[0];
  return field === undefined
    ? "the body: must be an object with username and password"
    : `${String(field)}: must be a text that is not empty`;
}

/** The account of the configured user with this name and password; development only. Takes as long for a wrong name. */
export function basicAccount(users: readonly BasicUser[], { username, password }: Credentials): Account | undefined {
  const given = digestOf(username, password);
  const found = users.filter((user) => timingSafeEqual(digestOf(user.username, user.password), given));
  const [user] = found;
  if (user === undefined) return undefined;
  return {
    id: `basic:${user.username}`,
    provider: "basic",
    username: user.username,
    email: undefined,
    role: user.role,
  };
}

function digestOf(username: string, password: string): Buffer {
  return createHash("sha256")
    .update(JSON.stringify([username, password]))
    .digest();
}
