import type { ApplicationPlan, Evaluated } from "../../core/model/plan/plan.js";
import type { ApplicationSync, Refusal } from "../../core/model/result.js";
import type { AuditedApplication, AuditRecord } from "../../core/ports/audit.js";
import { REPOSITORY_FILE } from "../../names.js";

/** What an entry of the audit trail says: a badge with its tone, and why it was refused or failed, or how it was done. */
export function activityWords(entry: AuditRecord): ActivityWords {
  const { action, command = "plan", reason } = entry;
  switch (action) {
    case "planned": {
      const incomplete = entry.applications.some(({ outcome }) => outcome === "unevaluated");
      return incomplete ? words("attention", "planned in part") : words("", "planned");
    }
    case "synced":
      return deploymentWords(entry, "sync", "synced");
    case "rolled-back":
      return deploymentWords(entry, "rollback", "rolled back");
    case "unlocked":
      return words("", "unlocked");
    case "updated":
      return words("", "branch updated", reason);
    case "reverted":
      return words("", "revert opened", reason);
    case "held":
      return words("attention", "held", reason);
    case "released":
      return words("", "released");
    case "force-unlocked":
      return words("attention", "unlocked by an admin");
    case "role-changed":
      return words("attention", "role changed", reason);
    case "merged":
      return words("good", "merged", reason === undefined ? undefined : `with the method ${reason}`);
    case "queued":
      return words("good", "queued to be merged", reason);
    case "rolled-out": {
      const failed = entry.applications.some(({ outcome }) => outcome === "failed");
      return failed
        ? words("bad", "failed after the merge", reason)
        : words("good", "followed after the merge", reason);
    }
    case "closed":
      return words("", "closed");
    case "refused":
      // svc's own rules forbade it: the applications have the reasons.
      if (reason === "merge") return words("attention", "merge refused");
      if (reason?.startsWith(MERGE) === true) return words("attention", "merge refused", reason.slice(MERGE.length));
      return words("attention", `${command} refused`, reason === undefined ? undefined : textOf(REFUSALS, reason));
    case "failed":
      return words("bad", `${command} failed`, reason === undefined ? undefined : textOf(REFUSALS, reason));
  }
}

/** Prefix of a host's reason not to merge. */
const MERGE = "merge: ";

function deploymentWords({ applications, reason }: AuditRecord, noun: string, done: string): ActivityWords {
  const outcomes = new Set(applications.map(({ outcome }) => outcome));
  const dry = reason === undefined ? "" : `${reason} of a `;
  if (outcomes.has("failed") || outcomes.has("rejected")) return words("bad", `${dry}${noun} failed`);
  if (outcomes.has("running") || outcomes.has("unknown")) return words("attention", `${dry}${noun}, end not known`);
  return dry === "" ? words("good", done) : words("", `${dry}${noun}`);
}

type ActivityWords = ReturnType<typeof words>;

function words(tone: "good" | "attention" | "bad" | "", badge: string, sentence?: string) {
  return { tone, badge, sentence };
}

/** What became of an application, to follow its name. */
export function outcomeWords({ outcome }: AuditedApplication, { action }: Pick<AuditRecord, "action">): string {
  // Its hold ended; locks have the same outcome.
  if (action === "released") return "is no longer held";
  return textOf(action === "planned" ? PLANNED : OTHERWISE, outcome);
}

/** What became of several applications, from what is said of one: `were refused`. */
export function severalWords(ofOne: string): string {
  return ofOne.replace(/^(?:was|is|has|does|changes|still runs)\b/, (verb) => PLURALS[verb] ?? verb);
}

const PLURALS: Readonly<Record<string, string>> = {
  was: "were",
  is: "are",
  has: "have",
  does: "do",
  changes: "change",
  "still runs": "still run",
};

type Planned = Exclude<ApplicationPlan["kind"], "evaluated"> | Evaluated["verdict"] | "not deployed";

const PLANNED: Readonly<Record<Planned, string>> = {
  changed: "changes",
  unchanged: "does not change",
  unknown: "may change",
  unevaluated: "could not be evaluated",
  new: "is new",
  deleted: "is deleted by the merge",
  unplanned: "was left out with -a",
  "not deployed": "is not deployed from here",
};

const OTHERWISE: Readonly<Record<ApplicationSync["kind"], string> & Record<string, string>> = {
  succeeded: "succeeded",
  failed: "failed",
  rejected: "was not started",
  running: "is still running",
  unknown: "has an unknown end",
  new: "is created by the merge",
  deleted: "is deleted by the merge",
  skipped: "was skipped: no changes",
  released: "is unlocked",
  held: "is held",
  "still deployed": "still runs its commit",
  refused: "was refused",
};

const REFUSALS: Readonly<Record<Refusal["reason"], string>> = {
  "not-a-command": "it was not a command",
  "nothing-locked": "no application was locked",
  "not-locked": "an application named with -a was not locked",
  "not-approved": "an approval was missing",
  stale: "the plan was out of date",
  "unread-files": "changed files could not be read",
  conflicts: "the branches conflict",
  "cannot-tell": "what has to be known before a command runs could not be read",
  "mergeability-unknown": "the code host had not yet computed whether the branches conflict",
  "auto-sync": "auto-sync is enabled",
  "not-deployable": "an application cannot be deployed from here",
  "unknown-applications": "an application named with -a was not found",
  "no-match": "no application matched the pattern named with -a",
  "locked-by-other": "others hold the lock",
  "head-moved": "new commits were pushed meanwhile, or its base branch changed",
  "plan-unseen": "the command was older than the plan",
  "store-unavailable": "the lock store did not answer",
  "found-late": "its webhook was lost, and it was found too late to run it",
  closed: "it was closed already",
  fork: "it comes from a fork",
  "not-done": "it could not be done",
  "no-write-access": "the person has no write access",
  "not-allowed": "the rules do not allow this person",
  "repository-file": `${REPOSITORY_FILE} cannot be used`,
  superseded: "new commits or a close came first",
  failure: "it could not be finished",
};

/** A text without an entry, such as a failure's message, is returned unchanged. */
function textOf(known: Readonly<Record<string, string>>, code: string): string {
  return (Object.hasOwn(known, code) ? known[code] : undefined) ?? code;
}
