import { logsInWith, type LoginConfig } from "../config/server/server-config.js";
import type { CommandPorts } from "../core/ports/context.js";
import type { UserStore } from "../core/ports/stores.js";

/** Knows administrators of the pages by their accounts at the code hosts: those with which they are logged in. */
export function createAdministrators(
  config: LoginConfig,
  users: Pick<UserStore, "list">,
): CommandPorts["isAdministrator"] {
  return async (host, { id }) => {
    if (!config.auth.enabled || !logsInWith(host, config)) return false;
    const present = await users.list();
    return present.some((account) => account.id === `${host}:${id}` && account.role === "admin");
  };
}
