import type { HostEvent } from "../../src/core/model/event.js";
import type { RunEnd } from "../../src/core/ports/event-queue.js";
import type { HostId } from "../../src/names.js";
import type { Dependencies } from "../../src/run/line/run.js";
import type { MemoryHost } from "../in-memory/memory-host.js";

/** What the conversation is about. */
export interface World {
  readonly host: MemoryHost;
  readonly dependencies: Dependencies;
}

/** Who looks on while a conversation is played, and where it takes place. */
export interface Onlooker {
  readonly hostId?: HostId;
  /** The host shows a commit status. */
  readonly commitStatus?: boolean;
  /** Wraps the handling of each event. */
  readonly around?: (event: HostEvent, handle: () => Promise<RunEnd>, world: World) => Promise<RunEnd>;
  /** The service is about to merge a change request. */
  readonly merging?: (number: number, world: World) => Promise<void>;
  /** Each time that somebody has done something. */
  readonly acted?: (number: number, world: World) => Promise<void>;
}
