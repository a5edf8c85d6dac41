import type { ApplicationName } from "../core/model/brand.js";
import { changeRequestRef, type ChangeRequestRef } from "../core/model/change-request.js";
import type { LiveRun } from "../core/model/live-run.js";
import type { Phase, TellProgress } from "../core/model/progress.js";
import type { LiveFeed } from "../core/ports/live-feed.js";

/** Tells a feed of one run. */
export interface LiveTeller {
  readonly tell: TellProgress;
  /** Tells that the run is over; more than once is once. */
  end(): void;
}

/** Tells everybody who looks at the change request's page that a run begins, how far it gets and that it is over. */
export function tellLive(
  about: Pick<LiveRun, "run" | "command"> & { readonly change: ChangeRequestRef; readonly began: Date },
  feed: LiveFeed,
): LiveTeller {
  const change = changeRequestRef(about.change);
  const phases = new Map<ApplicationName, Phase>();
  let over = false;
  const publish = () =>
    feed.publish(change, {
      run: about.run,
      command: about.command,
      began: about.began.toISOString(),
      applications: [...phases].map(([application, phase]) => ({ application, phase })),
      ended: over,
    });
  publish();
  return {
    tell(application, phase) {
      phases.set(application, phase);
      publish();
    },
    end() {
      if (over) return;
      over = true;
      publish();
    },
  };
}
