import { z } from "zod";
import { ROLES, type Account, type Role } from "../../core/model/account.js";
import { HOST_IDS } from "../../names.js";
import { orUndefined } from "./scalars.js";
import { readStored } from "./stored-value.js";

/** Fields of the hash of one person. Apart, so that a login and an admin's change never overwrite each other. */
export const PROFILE_FIELD = "profile";
export const ROLE_FIELD = "role";

const profile = z.object({
  v: z.literal(1),
  id: z.string(),
  provider: z.enum([...HOST_IDS, "oidc", "basic"]),
  username: z.string(),
  email: orUndefined(z.string()),
  role: z.enum(ROLES),
});

/** The role that an admin gave, and the id of that admin. */
const given = z.object({ v: z.literal(1), role: z.enum(ROLES), by: z.string() });

export function profileRecordOf({ id, provider, username, email, role }: Account): string {
  return JSON.stringify({ v: 1, id, provider, username, email, role });
}

export function givenRoleRecordOf(role: Role, by: Account): string {
  return JSON.stringify({ v: 1, role, by: by.id });
}

/**
 * The account with the role that counts; undefined without a profile.
 * @throws {StoredValueUnreadable}
 */
export function readUser(fields: Readonly<Record<string, string>>, key: string): Account | undefined {
  const [stored, role] = [fields[PROFILE_FIELD], fields[ROLE_FIELD]];
  if (stored === undefined) return undefined;
  const { id, provider, username, email, role: ofLogin } = readStored(profile, stored, "a user's record", key);
  const ofAdmin = role === undefined ? undefined : readStored(given, role, "a user's role", key).role;
  return { id, provider, username, email, role: ofAdmin ?? ofLogin };
}
