import { applicationName } from "../model/brand.js";
import type { Command } from "../model/command.js";
import type { CommandResult } from "../model/result.js";
import { checkLists } from "../policy/access.js";
import { byNameAlone } from "../policy/effect-rules.js";
import type { CommandContext } from "../ports/context.js";
import { namesOf, plannedIn } from "./selection.js";

/** Releases this change request's locks, all or the named ones. */
export async function unlock(
  command: Command<"unlock">,
  context: Pick<CommandContext, "locks" | "plans" | "change" | "settings" | "host" | "user">,
): Promise<CommandResult> {
  const { locks, plans, change } = context;
  const [held, plan] = await Promise.all([locks.list(change), plans.find(change)]);
  const named = namesOf(
    command,
    held.map(({ application }) => application),
    plannedIn(plan),
  );
  if (named.kind === "refused") return named;
  const wanted = named.items;
  const selected = held.filter(({ application }) => wanted.length === 0 || wanted.includes(application));
  const names = selected.map(({ application }) => application);
  const refusal = await checkLists("unlock", byNameAlone(names), context);
  if (refusal !== undefined) return { kind: "refused", refusal };
  const outcomes = await Promise.all(
    selected.map(async ({ application }) => ((await locks.release(application, change)) ? [application] : [])),
  );
  const missing = wanted.filter((name) => !held.some(({ application }) => application === name));
  const notHeld = await Promise.all(
    missing.map(async (application) => ({ application, lock: await locks.find(applicationName(application)) })),
  );
  return { kind: "unlocked", released: outcomes.flat(), notHeld };
}
