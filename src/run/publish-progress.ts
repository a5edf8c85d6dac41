import type { ApplicationName } from "../core/model/brand.js";
import { changeRequestRef, type ChangeRequestRef } from "../core/model/change-request.js";
import type { LiveRun } from "../core/model/live-run.js";
import type { Phase } from "../core/model/progress.js";
import type { LiveFeed } from "../core/ports/live-feed.js";

export interface PublishedRun {
  readonly runId: string;
  readonly command: LiveRun["command"];
  readonly change: ChangeRequestRef;
  readonly startedAt: Date;
}

/** Publishes the progress of one run. */
export interface ProgressPublisher {
  report(application: ApplicationName, phase: Phase): void;
  /** Calling it again does nothing. */
  end(): void;
}

/** Publishes to the change request's page that a run started, how far it is and that it ended. */
export function publishProgress(
  { runId, command, change, startedAt }: PublishedRun,
  feed: LiveFeed,
): ProgressPublisher {
  const ref = changeRequestRef(change);
  const phases = new Map<ApplicationName, Phase>();
  let ended = false;
  const publish = () =>
    feed.publish(ref, {
      runId,
      command,
      startedAt: startedAt.toISOString(),
      applications: [...phases].map(([application, phase]) => ({ application, phase })),
      ended,
    });
  publish();
  return {
    report(application, phase) {
      phases.set(application, phase);
      publish();
    },
    end() {
      if (ended) return;
      ended = true;
      publish();
    },
  };
}
