import { changeRequestName, type ChangeRequestRef } from "../core/change-request.js";
import type { NarrowedCommand, Refusal } from "../core/result.js";
import { HOST_TITLES, REPOSITORY_FILE, SERVICE } from "../names.js";
import { lockedBy } from "./locked-by.js";
import { code, codes, fence, plainName, sentence, shortened } from "./markdown.js";
import { listOf } from "./plan.js";

const MAX_REASON = 4000;

/** The commands that a person can write, as a list. */
export const COMMANDS = [
  `- ${code(`${SERVICE} plan [-a <application>]`)}: show what would change, and lock the applications`,
  `- ${code(`${SERVICE} sync [-a <application>] [--dry-run] [--prune]`)}: deploy the head commit`,
  `- ${code(`${SERVICE} rollback [-a <application>] [--dry-run] [--prune]`)}: deploy the target branch again`,
  `- ${code(`${SERVICE} unlock [-a <application>]`)}: give locks back`,
  `- ${code(`${SERVICE} help`)}: this list`,
].join("\n");

/** Why nothing was run, word for word where the specification has a text, and what to do. */
export function renderRefusal(refusal: Refusal, change: ChangeRequestRef): string {
  switch (refusal.reason) {
    case "not-a-command":
      return `not a ${SERVICE} command\n\n${COMMANDS}`;
    case "nothing-locked":
      return `No applications are locked by this PR. Run the plan command first.\n\nComment ${code(`${SERVICE} plan`)}.`;
    case "not-locked":
      return `Not locked by this PR: ${codes(refusal.applications)}. Run the plan command first, or name an application that it locked.`;
    case "not-approved":
      return paragraphs([
        "PR must be approved before sync",
        sentence(refusal.missing),
        `Approval is required for ${codes(refusal.applications)}.`,
        narrower(refusal.others, refusal.command),
      ]);
    case "stale":
      return paragraphs([
        ...refusal.applications.map(({ application, planFailure }) =>
          paragraphs([
            `Plan for ${plainName(application)} is stale. Please run the plan command again.`,
            planFailure === undefined
              ? ""
              : `The last plan could not evaluate it:\n\n${fence(shortened(planFailure, MAX_REASON))}`,
          ]),
        ),
        narrower(refusal.others),
      ]);
    case "conflicts":
      return "PR has merge conflicts, please resolve before syncing";
    case "mergeability-unknown":
      return `${HOST_TITLES[change.host]} is still computing whether this PR can be merged. Nothing was deployed; please try again in a minute.`;
    case "auto-sync":
      return paragraphs([
        ...refusal.applications.map(
          (name) =>
            `Application ${plainName(name)} has auto-sync enabled. Disable auto-sync before using the service to prevent conflicts.`,
        ),
        narrower(refusal.others, refusal.command),
      ]);
    case "not-deployable":
      return paragraphs([listOf("Nothing was deployed:", refusal.applications), narrower(refusal.others)]);
    case "unknown-applications":
      return `application not found: ${codes(refusal.applications)}. This PR affects no application of that name; comment ${code(`${SERVICE} plan`)} to see which it affects.`;
    case "locked-by-other":
      return paragraphs([
        ...refusal.locks.map(
          (lock) => `${plainName(lock.application)}: ${lockedBy(lock)}${elsewhere(lock.holder, change)}`,
        ),
        "Nothing was done. Ask the holder to sync or to unlock it.",
      ]);
    case "head-moved":
      return `New commits were pushed while this command was checked. Nothing was deployed; comment ${code(`${SERVICE} plan`)} and look at the new plan first.`;
    case "store-unavailable":
      return "failed to acquire lock\n\nThe lock store did not answer, so nothing was run. Please try again in a minute; if it persists, the store's address and health are the first place to look.";
    case "closed":
      return `This PR is ${refusal.state}. Only ${codes(["rollback", "unlock", "help"])} work here.`;
    case "fork":
      return `This PR comes from a fork. Its content is not planned or deployed unless the server allows it (${code("defaults.allow_forks")}).`;
    case "no-write-access":
      return `${code(refusal.login)} has no write access to ${code(change.repository)}, which this command needs. Ask somebody who has it.`;
    case "repository-file":
      return paragraphs([
        `${code(REPOSITORY_FILE)} cannot be used, so nothing is planned or deployed:`,
        fence(shortened(refusal.problems.join("\n"), MAX_REASON)),
        `Fix the file and push; ${codes(["rollback", "unlock", "help"])} still work.`,
      ]);
    case "superseded":
      return refusal.by === "closed"
        ? "The plan was stopped because this PR was closed."
        : `The plan was stopped because new commits were pushed. Comment ${code(`${SERVICE} plan`)} to plan them.`;
    case "failure":
      return paragraphs([
        "The command could not be finished:",
        fence(shortened(refusal.message, MAX_REASON)),
        "Nothing more was done. Once the cause is gone, give the command again.",
      ]);
  }
}

/** Offers the command again for the applications that a check did not fail for. */
function narrower(others: readonly string[], command: NarrowedCommand = "sync"): string {
  if (others.length === 0) return "";
  const options = others.map((name) => `-a ${name}`).join(" ");
  return `Nothing was deployed. To go on with the others: ${code(`${SERVICE} ${command} ${options}`)}`;
}

function elsewhere(holder: ChangeRequestRef, change: ChangeRequestRef): string {
  if (holder.host === change.host && holder.repository === change.repository) return "";
  return ` of ${code(changeRequestName(holder))} on ${HOST_TITLES[holder.host]}`;
}

function paragraphs(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}
