import type { FaultSwitch } from "../faults.js";
import type { Forge } from "../forge.js";

/** The HTTP server of a forge. */
export interface ForgeServer {
  readonly faults: FaultSwitch;
  readonly requests: Forge["requests"];
  stop(): Promise<void>;
}
