import type { ChangeRequest } from "../core/model/change-request.js";
import { needsApproval } from "../core/policy/checks.js";
import type { Detected } from "../core/policy/commit-status.js";
import { survey } from "../core/survey/survey.js";
import { commandContext } from "./command-context.js";
import { openChange } from "./open-change.js";
import type { Run } from "./run.js";
import { showPlannedStatus, showsStatus, showStatus } from "./show-status.js";

/**
 * The status of a head that is not planned by itself: what an earlier plan of it says, or else what can be told without
 * a render, so that a required status is green where nothing is to deploy.
 */
export async function showDetected(change: ChangeRequest, run: Run): Promise<void> {
  if (!showsStatus(run) || change.state !== "open") return;
  try {
    const { settings, problems, snapshot } = await openChange(change, run);
    if (problems.length > 0) {
      await showStatus(change, { kind: "plan-failed", reason: "the repository's file cannot be used" }, run);
    } else if (!(await showPlannedStatus(change, { settings }, run))) {
      const parts = { run, progress: () => undefined };
      const context = { ...commandContext(undefined, change, { settings, snapshot }, parts), user: NOBODY };
      const { subjects, notDeployed, detection } = await survey(context, { withLiveSets: true });
      const found = [...subjects.map(({ name }) => name), ...detection.applicationSets.map(({ name }) => name)];
      const atMerge = notDeployed.map(({ application }) => application);
      // What could not be read may hide an application, and an approval is asked for by the plan.
      const certain = detection.notes.length === 0 && !needsApproval(settings, atMerge);
      const nothing = found.length === 0 && certain;
      await showStatus(
        change,
        { kind: "detected", detected: nothing ? { kind: "nothing", atMerge } : waits(found, change, run) },
        run,
      );
    }
  } catch (error) {
    run.signal.throwIfAborted();
    run.log.warn({ err: error }, "what a head affects could not be told for its status");
    await showStatus(change, { kind: "detected", detected: { kind: "unknown" } }, run);
  }
}

const NOBODY = { id: "", login: "ghost", bot: false };

function waits(applications: readonly string[], { fork }: ChangeRequest, { config }: Run): Detected {
  if (fork && !config.defaults.allowForks) return { kind: "barred" };
  return applications.length === 0 ? { kind: "unknown" } : { kind: "affected", applications };
}
