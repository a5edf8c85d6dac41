import { ROLES } from "../../core/model/settings.js";
import { HOST_TITLES } from "../../names.js";
import { isAdmin, type Page, type PageParts, problemPage, type Reader } from "./page.js";

const PROVIDERS = { ...HOST_TITLES, oidc: "OIDC", basic: "basic", "api-token": "API token" } as const;

/** Who is logged in, and with which role; for admins only. */
export async function usersPage(reader: Reader, { users }: PageParts): Promise<Page> {
  if (reader.kind !== "account") {
    return problemPage(403, "There are no users", ["Authentication is off. Set `auth.enabled` in svc.yaml to log in."]);
  }
  if (!isAdmin(reader)) {
    return problemPage(403, "Only for admins", [
      "This page needs the role admin; your role is user.",
      "An admin can change your role here. `auth.role_assignments` in svc.yaml can assign it at the next login.",
    ]);
  }
  const own = reader.account.id;
  const rows = (await users.list()).map(({ id, username, email, role, provider }) => ({
    id,
    username,
    email,
    role,
    provider: PROVIDERS[provider],
    own: id === own,
    path: `/api/v1/users/${encodeURIComponent(id)}/role`,
  }));
  return { view: "users", title: "Users", active: "users", data: { rows, roles: ROLES } };
}
