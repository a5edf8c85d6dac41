import { REPOSITORY_FILE } from "../../names.js";
import { applicationName, type ApplicationName, shortRevision } from "../model/brand.js";
import { type ChangeRequest, sameChangeRequest } from "../model/change-request.js";
import { holdClause } from "../model/hold.js";
import { plainText, referenceTo } from "../model/host-words.js";
import type { Names } from "../model/next-step.js";
import type { Refusal } from "../model/result.js";
import { ACCESS_COMMANDS } from "../model/settings.js";
import {
  approvalNeedsOf,
  approving,
  awaits,
  foreignLocksOf,
  isAtHead,
  lockOfOthers,
  passing,
  planning,
  pushing,
  replanning,
  touchedBy,
  touches,
} from "./application-state.js";
import { CHANGE_RULES } from "./change-rules.js";
import { type ApplicationFacts, DOUBTS, type Facts } from "./facts.js";
import { type Bar, type Barred, type Judged, rowsOf, type Rules } from "./gates.js";
import { barOfStage, stepOfStage } from "./stages.js";

/** `lockOfOthers` as plain text. */
function heldByOthers(one: ApplicationFacts, facts: Facts, command: Judged): string | undefined {
  const message = lockOfOthers(one, facts, command);
  return message && plainText(message);
}

const ofEach = rowsOf("application");

function namesIn(bars: readonly Bar[]): Names {
  return [...new Set(bars.flatMap(({ application }) => application ?? []))];
}

/** Every gate, and every danger. */
export const RULES: Rules = {
  ...CHANGE_RULES,
  project: ofEach(["sync", "merge"], "operator", 7, {
    trusts: { plan: ["head", "base", "policy"] },
    bars: ({ requires }) => requires.obstacle,
    step: ({ bars }, { change }) => pushing("project", namesIn(bars), change),
  }),
  behind: ofEach(["sync", "merge"], "push", 16, {
    trusts: { plan: ["head", "base"], records: ["head", "base"] },
    needs: ["applications"],
    bars: ({ now, planned, record, requires }, { change }, command) => {
      if (now !== undefined && command === "sync") return requires.upToDate ? now.behind : undefined;
      if (record?.reverted !== undefined && isAtHead(record, change)) {
        return `its sync reverted what ${change.baseBranch} got since this branch left it: update the branch and sync again`;
      }
      const behind = planned?.behind === true && requires.upToDate;
      return behind && command === "sync" ? behindClause(change) : undefined;
    },
    step: ({ bars }, { change, settings }) => ({
      ...pushing("behind", namesIn(bars), change),
      ...(change.fork || settings.updatesOff || settings.sharedHead ? {} : { command: "update" }),
    }),
  }),
  unevaluated: ofEach(["sync", "merge"], "push", 11, {
    trusts: { plan: ["head", "base"], records: ["head"], locks: ["time"] },
    bars: (one, facts) =>
      one.planned?.kind === "unevaluated" && !one.planned.withheld && facts.plan?.current === true && awaits(one, facts)
        ? "its plan could not be evaluated"
        : undefined,
    refusal: stale,
    step: ({ bars }, { change }) => pushing("unevaluated", namesIn(bars), change),
  }),
  unseen: ofEach(["sync"], "push", 16, {
    trusts: { plan: ["head", "base", "policy"] },
    bars: ({ planned, requires }, { asker, plan }) =>
      plan?.current === true && requires.approvals.sync.length > 0 && asker?.withoutApproval !== true
        ? planned?.unseen
        : undefined,
    step: ({ bars }, { change }) => pushing("unseen", namesIn(bars), change),
  }),
  checks: ofEach(["sync"], "push", 19, {
    trusts: { plan: ["head", "base", "policy", "result"] },
    bars: ({ now, planned }, { asker }) => {
      if (now?.checks === undefined && asker === undefined) {
        return planned?.failedChecks.length ? "a required check failed" : undefined;
      }
      if (now?.checks === undefined) return "its checks have not been looked at";
      return now.checks.length === 0 ? undefined : now.checks.map(({ sentence }) => sentence).join("; ");
    },
    step: ({ applications }, facts) =>
      passing(
        applications.map(({ application, planned }) => ({ application, failed: planned?.failedChecks ?? [] })),
        facts,
        "sync",
      ),
  }),
  withheld: ofEach(["sync", "merge"], "approval", 16, {
    trusts: { plan: ["head", "base"] },
    needs: ["applications"],
    bars: ({ now, planned }, { plan }, command) => {
      if (now !== undefined && command === "sync") return now.withheld;
      return planned?.withheld && plan?.current ? "it is not rendered before the head is approved" : undefined;
    },
    step: (_, facts) => approving(facts, replanning(facts)),
  }),
  uncovered: ofEach(["sync"], "push", 16, {
    trusts: { plan: ["head", "base"] },
    needs: ["applications"],
    bars: ({ now, planned }) =>
      now === undefined ? (planned?.uncovered ? "Argo CD would ignore the change" : undefined) : now.uncovered,
    step: ({ bars }, { change }) => pushing("uncovered", namesIn(bars), change),
  }),
  stale: ofEach(["sync", "rollback", "merge"], "plan", 11, {
    trusts: { plan: ["head", "base"], locks: ["head", "time"], records: ["head"] },
    needs: ["applications"],
    bars: isStale,
    refusal: stale,
    step: ({ only }, facts) => planning(facts, only),
  }),
  "effect-differs": ofEach(["sync", "merge"], "plan", 17, {
    needs: ["applications"],
    bars: ({ now }) => now?.differs,
    refusal: stale,
    step: ({ only }, facts) => planning(facts, only),
  }),
  undeployable: ofEach(["sync"], "plan", 16, {
    needs: ["applications"],
    bars: ({ now }) => now?.obstacle,
    step: ({ only, applications }, facts) =>
      // Another plan could not evaluate it either, and would take the place of a good one.
      applications.some(({ now }) => now?.passes)
        ? { kind: "later", because: DOUBTS.applications }
        : planning(facts, only),
  }),
  access: ofEach(["plan", "sync", "rollback", "unlock", "hold", "merge"], "operator", 15, {
    needs: ["access"],
    bars: ({ application }, { asker }, command) => {
      if (!asker?.barred.some((one) => (one.through ?? one.application) === application)) return undefined;
      if (command !== "merge") return "the rules do not allow it";
      return "the merge would deploy it, and the rules do not let the person who gave this command deploy it";
    },
    refusal: ({ others, bars }, { asker }, command) => {
      const names = new Set(namesIn(bars));
      const applications = (asker?.barred ?? []).filter((one) => names.has(one.through ?? one.application));
      const login = asker?.login ?? "";
      const denied = ACCESS_COMMANDS.find((one) => one === command) ?? "sync";
      return { reason: "not-allowed", command: denied, login, applications, others: denied === command ? others : [] };
    },
  }),
  approval: ofEach(["sync", "rollback", "merge"], "approval", 10, {
    trusts: { plan: ["head", "base", "policy"], records: ["base", "policy"] },
    asks: "approval",
    bars: (one, facts, command) => {
      if (facts.approval?.approved === true || facts.asker?.withoutApproval === true) return undefined;
      if (approvalNeedsOf(one, command).length === 0) return undefined;
      return command === "merge"
        ? `${facts.words.short} must be approved before it is merged`
        : "it requires an approval";
    },
    refusal: notApproved,
    step: (_, facts, then) => approving(facts, then),
  }),
  "auto-sync": ofEach(["sync", "rollback"], "operator", 14, {
    needs: ["applications"],
    bars: ({ now }) => (now?.autoSynced ? "it has auto-sync enabled" : undefined),
    refusal: ({ bars, others }, { applications }) => ({
      reason: "auto-sync",
      applications: namesIn(bars),
      inSteps: syncedInSteps(applications),
      others,
    }),
  }),
  "locked-by-other": ofEach(["sync", "rollback", "merge"], "holder", 6, {
    trusts: { locks: ["time"], plan: ["head", "base"], records: ["head"] },
    bars: heldByOthers,
    refusal: refusedByLocks,
    step: ({ applications }, facts) => ({ kind: "wait", locks: foreignLocksOf(applications, facts, "sync") }),
  }),
  held: ofEach(["sync", "merge"], "operator", 9, {
    trusts: { plan: ["head", "base"], holds: ["time"] },
    bars: heldForATime,
    step: ({ applications }) => ({ kind: "held", holds: applications.flatMap(({ requires }) => requires.holds ?? []) }),
  }),
  stage: ofEach(["sync"], "sync", 8, {
    trusts: { plan: ["head", "base", "policy"], records: ["head", "time"], locks: ["time"] },
    bars: barOfStage,
    step: ({ applications }, facts) => stepOfStage(applications, facts),
  }),
  "not-synced": ofEach(["merge"], "sync", 20, {
    trusts: { plan: ["head", "base"], records: ["head"], locks: ["time"] },
    bars: (one, facts) => {
      if (!awaits(one, facts)) return undefined;
      const failed = facts.justFailed.includes(one.application);
      return failed || hasEndedAtHead(one, facts)
        ? "its sync has not succeeded"
        : "it was not synced at the head commit";
    },
  }),
  "refused-by-cluster": {
    of: "danger",
    commands: ["sync"],
    warns: ({ planned }) => planned?.refused ?? [],
  },
  destroys: {
    of: "danger",
    commands: ["sync"],
    warns: ({ planned }, { settings }) =>
      (planned?.dangers ?? [])
        .filter(({ effect, pruning }) => effect === "lost" && (settings.prune || !pruning))
        .map(({ what }) => what),
  },
  "replaces-other": {
    of: "danger",
    commands: ["sync"],
    warns: ({ foreign }, { change, words }) =>
      foreign
        .filter(({ outcome }) => outcome !== "failed")
        .map((one) => `replaces commit ${shortRevision(one.revision)} of ${referenceTo(one.change, change, words)}`),
  },
};

const RETARGETED = "there is no plan of it for the present target branch";
const LEFT_OUT = "it was left out of the plan";
const UNDRIVEN =
  "the plan does not deploy it, so svc cannot tell which rules hold for it: set the target branch back if it was changed, or else sync it in Argo CD";
const UNTOLD =
  "others have deployed to it, and the plan does not say what a rollback takes back of that: let them roll it back, or mend the commit";

/** Who holds it for a time. The merge does nothing to what the head leaves as it is, and a dry run deploys nothing. */
function heldForATime(
  { planned, requires: { holds = [] } }: ApplicationFacts,
  { asker }: Facts,
  command: Judged,
): string | undefined {
  const isUntouched = command === "merge" && planned?.unchanged === true;
  const [hold] = isUntouched || asker?.withoutApproval === true ? [] : holds;
  return hold && holdClause(hold);
}

/** Why the plan behind a lock gives no right to run the command; undefined if it does. */
function isStale(one: ApplicationFacts, facts: Facts, command: Judged): string | undefined {
  const { planned, lock, record, now } = one;
  const current = facts.plan?.current === true;
  switch (command) {
    case "rollback":
      if (facts.plan?.retargeted) return RETARGETED;
      // It may have been deployed under another target branch, and nobody knows the rules of that.
      if (planned === undefined) return record === undefined || !current ? RETARGETED : UNDRIVEN;
      if (record !== undefined || one.foreign.length === 0) return undefined;
      // What it deletes of what others deployed, and who has locked that, only a plan tells.
      if (planned.kind === "unplanned") return LEFT_OUT;
      return planned.kind === "evaluated" && !planned.reachUnknown && planned.atMerge === undefined
        ? undefined
        : UNTOLD;
    case "merge":
      return awaits(one, facts) && planned?.kind === "unplanned" ? LEFT_OUT : undefined;
    case "plan":
    case "sync":
    case "unlock":
    case "update":
    case "revert":
    case "hold":
    case "release":
      // Whoever holds it has to release it first.
      if (lock !== undefined && !sameChangeRequest(lock.holder, facts.change)) return undefined;
      if (!current || lock?.planRevision !== facts.change.headRevision || planned?.kind === "unplanned") {
        return "it is not planned at the head commit";
      }
      if (now === undefined && planned === undefined) return "the newest plan does not know it";
      return movedSince(one, facts, command);
  }
}

/** What changed since the plan of an application at this head. */
function movedSince(one: ApplicationFacts, facts: Facts, command: Judged): string | undefined {
  if (command !== "sync" || one.now?.moved !== undefined) return one.now?.moved;
  const free = touchedBy(one, facts).find(({ child }) => {
    // No sync deploys what it creates, and what is not in the plan is not locked.
    if (!("planned" in child) || child.planned?.kind === "new") return false;
    const { lock, planned, record } = child;
    // A sync releases what it skips.
    if (record === undefined && planned?.unchanged === true && facts.settings.skipNoChanges) return false;
    return lock === undefined && !(record !== undefined && isAtHead(record, facts.change));
  });
  if (free === undefined) return undefined;
  return `its sync ${touches(free)}, which is no longer locked by this ${facts.words.short}`;
}

/** Says that a sync would revert something of the base branch, and names neither files nor commits. */
function behindClause({ baseBranch }: ChangeRequest): string {
  return `${baseBranch} changed what it is deployed from`;
}

/** The applications that a command found to be synced by their ApplicationSet, each with that set; undefined if none is. */
function syncedInSteps(
  applications: readonly ApplicationFacts[],
): readonly { readonly application: ApplicationName; readonly set: string }[] | undefined {
  const found = applications.flatMap(({ application, now }) =>
    now?.syncingSet === undefined ? [] : [{ application, set: now.syncingSet }],
  );
  return found.length > 0 ? found : undefined;
}

/** The refusal of a command that lacks an approval. */
function notApproved({ bars, applications, others }: Barred, { approval }: Facts, command: Judged): Refusal {
  const needs = applications.flatMap((one) => approvalNeedsOf(one, command));
  return {
    reason: "not-approved",
    applications: namesIn(bars),
    needs: needs.filter(({ application, member, because }) => application !== member || because !== ""),
    missing: approval?.missing ?? "",
    others,
  };
}

/** Whether a sync of the head ended without success, or with an unknown outcome. */
function hasEndedAtHead({ record }: ApplicationFacts, { change }: Facts): boolean {
  return record?.revision === change.headRevision && record.outcome !== "succeeded";
}

/** The refusal of a command that these locks bar. */
function refusedByLocks({ applications }: Barred, facts: Facts, command: Judged): Refusal {
  const locks = foreignLocksOf(applications, facts, command);
  const held = new Set(locks.map(({ application }) => application));
  const written = applications.flatMap((parent) => {
    const touched = [
      ...(command === "sync" ? touchedBy(parent, facts) : []),
      ...(parent.now?.deletes ?? []).map((child) => ({ child, deletes: true })),
    ];
    return touched.flatMap(({ child: { application: child }, deletes }) =>
      held.has(child) ? [{ child, parent: parent.application, ...(deletes && { deletes }) }] : [],
    );
  });
  return { reason: "locked-by-other", locks, ...(written.length === 0 ? {} : { written }) };
}

function stale(barred: Barred, facts: Facts, command: Judged): Refusal {
  const { bars, applications, others } = barred;
  // Another plan would not help.
  if (bars.some(({ why }) => why === UNDRIVEN)) return notDeployable(barred, facts);
  const named = new Map(bars.map((bar) => [bar.application, bar]));
  return {
    reason: "stale",
    applications: applications
      .filter(({ application }) => named.has(application))
      .map((one) => ({
        application: one.application,
        planFailure: one.planned?.failure,
        // A plan that could not be evaluated may not know what an application deploys: nothing has to have changed since.
        differs: one.planned?.failure === undefined ? one.now?.differs : undefined,
        moved: command === "rollback" ? named.get(one.application)?.why : movedSince(one, facts, command),
      })),
    others,
  };
}

/** The refusal of a command. `bars` are those of the gates that are answered together. */
export function refusalFor(barred: Barred, facts: Facts, command: Judged): Refusal {
  const doubts = barred.bars.filter(({ untold }) => untold).map(({ why }) => why);
  if (doubts.length > 0) return { reason: "cannot-tell", doubts: [...new Set(doubts)] };
  const [first] = barred.bars;
  return ((first && RULES[first.gate].refusal) ?? notDeployable)(barred, facts, command);
}

function notDeployable({ bars, applications, others }: Barred, { change }: Facts): Refusal {
  const found = new Map(applications.map((one) => [one.application, one]));
  const refused = bars.map(({ application, gate, why }) => {
    const one = application && found.get(application);
    const lines = gate === "checks" ? (one?.now?.checks ?? []).flatMap(({ printed }) => printed ?? []) : [];
    const printed = lines.length === 0 ? undefined : lines.join("; ").slice(0, MAX_PRINTED);
    const recorded = gate === "behind" ? behindClause(change) : undefined;
    return { application: application ?? applicationName(REPOSITORY_FILE), reason: why, recorded, printed };
  });
  return { reason: "not-deployable", applications: refused, others };
}

/** Characters. */
const MAX_PRINTED = 400;
