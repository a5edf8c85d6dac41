import type { ChangeRequest } from "../core/model/change-request.js";
import type { CommandContext, Reloaded } from "../core/ports/context.js";
import type { Autoplan, GivenCommand } from "./asked.js";
import type { Run } from "./run.js";
import { openChange } from "./settings.js";

/** What a command of this run may read and act on. */
export function commandContext(
  { by }: Pick<GivenCommand | Autoplan, "by">,
  change: ChangeRequest,
  { settings, snapshot }: Pick<Reloaded, "settings" | "snapshot">,
  run: Run,
): CommandContext {
  return {
    ...run,
    change,
    settings,
    snapshot,
    reload: (fresh) => openChange(fresh, run),
    user: by ?? change.author ?? { id: "", login: "ghost", bot: false },
    automatic: by === undefined,
    progress: run.attempt.report,
    noteStarted: async (started) => {
      await run.ticket.confirm();
      await run.ticket.journal.write({ started });
    },
  };
}
