import type { FaultSwitch } from "../faults.js";
import type { RequestLog } from "../request-log.js";

/** The HTTP server of a forge. */
export interface ForgeServer {
  readonly faults: FaultSwitch;
  readonly requests: RequestLog;
  stop(): Promise<void>;
}
