import type { ChangeRequest } from "../core/model/change-request.js";
import { needsApproval } from "../core/policy/checks.js";
import type { Detected } from "../core/policy/commit-status.js";
import { survey } from "../core/survey/survey.js";
import { commandContext } from "./command-context.js";
import type { Run } from "./run.js";
import { openChange } from "./settings.js";
import { hasCommitStatus, setCommitStatus, setPlanStatus } from "./status.js";

/**
 * Sets the commit status of a head that is not planned automatically: from an earlier plan of it, or else from what is
 * known without a render, so that a required status turns green where there is nothing to deploy.
 */
export async function setDetectedStatus(change: ChangeRequest, run: Run): Promise<void> {
  if (!hasCommitStatus(run) || change.state !== "open") return;
  try {
    const { settings, problems, snapshot } = await openChange(change, run);
    if (problems.length > 0) {
      await setCommitStatus(change, { kind: "plan-failed", reason: "the repository's file cannot be used" }, run);
    } else if (!(await setPlanStatus(change, { settings }, run))) {
      const context = { ...commandContext(AUTOMATIC, change, { settings, snapshot }, run), user: NOBODY };
      const { subjects, notDeployed, detection } = await survey(context, { withLiveSets: true });
      const found = [...subjects.map(({ name }) => name), ...detection.applicationSets.map(({ name }) => name)];
      const atMerge = notDeployed.map(({ application }) => application);
      // A file that could not be read may hide an application, and only a plan asks for an approval.
      const certain = detection.notes.length === 0 && !needsApproval(settings, atMerge);
      const nothing = found.length === 0 && certain;
      const detected: Detected = nothing ? { kind: "nothing", atMerge } : awaiting(found, change, run);
      await setCommitStatus(change, { kind: "detected", detected }, run);
    }
  } catch (error) {
    run.signal.throwIfAborted();
    run.log.warn({ err: error }, "could not determine what a head affects for its commit status");
    await setCommitStatus(change, { kind: "detected", detected: { kind: "unknown" } }, run);
  }
}

const AUTOMATIC = { by: undefined };
const NOBODY = { id: "", login: "ghost", bot: false };

function awaiting(applications: readonly string[], { fork }: ChangeRequest, { config }: Run): Detected {
  if (fork && !config.defaults.allowForks) return { kind: "barred" };
  return applications.length === 0 ? { kind: "unknown" } : { kind: "affected", applications };
}
