import type { ChangeRequest } from "../core/model/change-request.js";
import type { Reloaded } from "../core/ports/context.js";
import { loadSettings } from "./load-settings.js";
import type { Run } from "./run.js";

/** Makes the commits of a change request readable and reads the settings that hold for it. */
export async function openChange(change: ChangeRequest, run: Run): Promise<Reloaded> {
  const snapshot = await run.repositories.open(change, await run.host.cloneSource(change), run.signal);
  return { ...(await loadSettings(run.config, change, snapshot)), snapshot };
}
