import type { FaultSwitch } from "../faults.js";
import type { Forge } from "../forge.js";

/** What the server behind a forge keeps and offers. */
export interface ForgeServer {
  readonly faults: FaultSwitch;
  readonly requests: Forge["requests"];
  stop(): Promise<void>;
}
