import type { ChangeRequest } from "../core/model/change-request.js";
import type { TellProgress } from "../core/model/progress.js";
import type { CommandContext, Reloaded } from "../core/ports/context.js";
import { openChange } from "./open-change.js";
import type { Asked, Run } from "./run.js";

/** What a command of this run may look at and act on. */
export function commandContext(
  by: Asked["by"],
  change: ChangeRequest,
  { settings, snapshot }: Pick<Reloaded, "settings" | "snapshot">,
  { run, progress }: { readonly run: Run; readonly progress: TellProgress },
): CommandContext {
  return {
    ...run,
    change,
    settings,
    snapshot,
    reload: (fresh: ChangeRequest) => openChange(fresh, run),
    user: by ?? change.author ?? { id: "", login: "ghost", bot: false },
    automatic: by === undefined,
    progress,
    begin: async (begun) => {
      await run.ticket.confirm();
      await run.ticket.journal.write({ begun });
    },
  };
}
