import type { Settings } from "../config/settings.js";
import { type Approval, type ChangeRequest, sameChangeRequest } from "../core/model/change-request.js";
import { isPlanOf, type Plan } from "../core/model/plan.js";
import { approvalOf, type ApprovalContext } from "../core/policy/approval.js";
import { checksOfMerge, NOTHING_FAILED, type MergeChecks } from "../core/policy/merge-checks.js";
import { requiringApproval } from "../core/policy/merge-decision.js";
import { missingForRules } from "../core/policy/rules-approval.js";
import type { Standing } from "../core/policy/standing.js";
import type { CommandPorts } from "../core/ports/context.js";
import { withPresentLocks } from "../core/survey/present-locks.js";
import { openChange, type SettingsSource } from "./context.js";

/** Where the facts of a standing are read. */
export type StandingSource = SettingsSource &
  Pick<CommandPorts, "plans" | "deployments" | "locks" | "waiting" | "hostWords" | "isAdministrator" | "checks">;

/** What the code host says about a head. */
export type Reviewed = Pick<Standing, "approval" | "missingForRules">;

/** What is known already when a standing is read. */
export interface Known {
  readonly settings: Settings;
  readonly broken?: boolean;
  /** The newest plan; without this key it is read. */
  readonly plan?: Plan | undefined;
  /** If absent, the host is asked about what requires an approval. */
  readonly reviewed?: Reviewed | undefined;
}

export const NOT_REVIEWED: Reviewed = { approval: undefined, missingForRules: undefined };

/** Reads where a change request stands now. */
export async function readStanding(change: ChangeRequest, known: Known, run: StandingSource): Promise<Standing> {
  const { plans, deployments, locks } = run;
  const { settings, broken = false } = known;
  const stored = "plan" in known ? known.plan : await plans.find(change);
  const plan = stored && (await withPresentLocks(stored, run));
  const reviewed = known.reviewed ?? (await readReviews(change, plan, settings, run));
  const [records, held] = await Promise.all([deployments.list(), locks.list()]);
  const own = records.filter((record) => sameChangeRequest(record.change, change));
  const concerned = new Set([...(plan?.applications ?? []), ...own].map(({ application }) => application));
  return {
    change,
    settings,
    broken,
    plan,
    records: own,
    foreign: records.filter((record) => !sameChangeRequest(record.change, change)),
    locks: held.filter((lock) => sameChangeRequest(lock.holder, change) || concerned.has(lock.application)),
    ...reviewed,
    mergeChecks: await readMergeChecks(change, plan, settings, run),
    merging: false,
  };
}

/** Asks the host only for what is required: an approval of the planned head, and one of its new rules. */
export async function readReviews(
  change: ChangeRequest,
  plan: Plan | undefined,
  settings: Settings,
  run: StandingSource,
): Promise<Reviewed> {
  if (change.state !== "open" || !isPlanOf(plan, change)) return NOT_REVIEWED;
  const context = approvalContext(change, settings, run);
  let approval: Approval | undefined;
  if (requiringApproval(plan, settings).length > 0) approval = await approvalOf(context);
  return { approval, missingForRules: await missingForRules(context, approval) };
}

/** Asks the host only where a required check failed. */
async function readMergeChecks(
  change: ChangeRequest,
  plan: Plan | undefined,
  settings: Settings,
  run: StandingSource,
): Promise<MergeChecks> {
  if (change.state !== "open" || !isPlanOf(plan, change)) return NOTHING_FAILED;
  return checksOfMerge(plan, { ...approvalContext(change, settings, run), checks: run.checks });
}

function approvalContext(change: ChangeRequest, settings: Settings, run: StandingSource) {
  const { host, hostWords, isAdministrator } = run;
  return { host, change, settings, snapshot: opensWhenAsked(change, run), hostWords, isAdministrator };
}

/** Most approvals can be judged without the commits. */
function opensWhenAsked(change: ChangeRequest, run: StandingSource): ApprovalContext["snapshot"] {
  let opened: ReturnType<typeof openChange> | undefined;
  const open = async () => (await (opened ??= openChange(change, run))).snapshot;
  return {
    commitsBetween: async (from, to) => (await open()).commitsBetween(from, to),
    isCleanMerge: async (commit) => (await open()).isCleanMerge(commit),
  };
}
