import { REPOSITORY_FILE } from "../../names.js";
import { applicationName, shortRevision } from "../model/brand.js";
import { plainText, referenceTo } from "../model/host-words.js";
import type { Refusal } from "../model/result.js";
import { ACCESS_COMMANDS } from "../model/settings.js";
import {
  approvalNeedsOf,
  approving,
  awaits,
  behindClause,
  foreignLocksOf,
  hasEndedAtHead,
  heldForATime,
  isAtHead,
  isStale,
  lockOfOthers,
  missedBars,
  movedSince,
  namesIn,
  notApproved,
  notPlanned,
  passing,
  planning,
  pushing,
  refusedByLocks,
  replanning,
  RETARGETED,
  retargetedTo,
  selectedOf,
  showing,
  syncedInSteps,
  whatMoved,
} from "./application-state.js";
import type { ApplicationFacts, Facts } from "./facts.js";
import { type Barred, type ChangeBar, type Judged, ofChange, ofEach, type Rules } from "./gates.js";
import { barOfStage, stepOfStage } from "./stages.js";

/** `lockOfOthers` as plain text. */
function heldByOthers(one: ApplicationFacts, facts: Facts, command: Judged): string | undefined {
  const message = lockOfOthers(one, facts, command);
  return message && plainText(message);
}

/**
 * Every gate, in the order in which people should clear them: what makes other work worthless comes first, such as a
 * push, which an approval does not survive.
 */
export const RULES: Rules = {
  closed: ofChange(["plan", "sync", "update", "merge"], "nobody", 0, {
    needs: ["change"],
    bars: ({ change }) => (change.state === "open" ? [] : [whole(change.state)]),
    refusal: (_, { change }) => ({ reason: "closed", state: change.state === "open" ? "closed" : change.state }),
  }),
  fork: ofChange(["plan", "sync", "update", "merge"], "operator", 1, {
    bars: ({ change, settings }, command) =>
      change.fork && (command === "update" || !settings.allowForks) ? [whole("it comes from a fork")] : [],
    refusal: (barred, _, command) => (command === "update" ? notDone("update")(barred) : { reason: "fork" }),
    step: () => ({ kind: "none", because: "fork" }),
  }),
  "updates-off": ofChange(["update"], "operator", 1, {
    bars: ({ settings }) => (settings.updatesOff ? [whole("update_branch is set to never here")] : []),
    refusal: notDone("update"),
  }),
  "shared-head": ofChange(["update"], "operator", 1, {
    bars: ({ settings, change: { headBranch } }) =>
      settings.sharedHead
        ? [whole(`${headBranch} is the default branch or a protected one, and svc never pushes to those`)]
        : [],
    refusal: notDone("update"),
  }),
  unmerged: ofChange(["revert"], "nobody", 1, {
    bars: ({ change: { state }, words: { command } }) =>
      state === "merged" ? [] : [whole(`only what was merged can be reverted; ${command} rollback undoes a sync`)],
    refusal: notDone("revert"),
  }),
  "broken-rules": ofChange(["plan", "sync", "update", "hold", "merge"], "push", 2, {
    bars: ({ problems }) => (problems.length > 0 ? [file("it cannot be used")] : []),
    refusal: (_, { problems }) => ({ reason: "repository-file", problems }),
    step: (_, { change }) => pushing("rules-broken", [], change),
  }),
  "write-access": ofChange(
    ["plan", "sync", "rollback", "unlock", "update", "revert", "hold", "release"],
    "operator",
    3,
    {
      needs: ["access"],
      bars: ({ asker }) => (asker?.mayWrite === false ? [whole(`${asker.login} has no write access`)] : []),
      refusal: (_, { asker }) => ({ reason: "no-write-access", login: asker?.login ?? "" }),
    },
  ),
  "head-moved": ofChange(["sync", "merge"], "plan", 4, {
    trusts: { plan: ["base"] },
    needs: ["change"],
    bars: (facts) => (facts.headMoved ? [whole(whatMoved(facts))] : []),
    refusal: (_, facts) => ({ reason: "head-moved", base: retargetedTo(facts) }),
    step: ({ only }, facts) => planning(facts, only),
  }),
  conflicts: ofChange(["sync", "update", "merge"], "push", 12, {
    needs: ["mergeability"],
    bars: ({ change }) => (change.mergeability === "conflicts" ? [whole("it has merge conflicts")] : []),
    refusal: (barred, _, command) => (command === "update" ? notDone("update")(barred) : { reason: "conflicts" }),
    step: (_, { change }) => pushing("conflicts", [], change),
  }),
  "mergeability-unknown": ofChange(["sync"], "time", 13, {
    // Only who gives a command waits for the host to compute it.
    bars: ({ change, asker }) =>
      change.mergeability === "unknown" && asker !== undefined ? [whole("its host still computes conflicts")] : [],
    refusal: () => ({ reason: "mergeability-unknown" }),
  }),
  "unread-files": ofChange(["sync", "merge"], "push", 18, {
    trusts: { plan: ["head", "base"] },
    bars: ({ plan }) =>
      (plan?.unread ?? []).map((one) => ({ application: applicationName(one.file), reason: "it could not be read" })),
    refusal: (_, { plan }) => ({ reason: "unread-files", files: plan?.unread ?? [] }),
    step: (_, { change }) => pushing("unread", [], change),
  }),
  unplanned: ofChange(["sync", "merge"], "plan", 11, {
    trusts: { plan: ["head", "base"] },
    bars: notPlanned,
    step: ({ only }, facts) => planning(facts, facts.plan?.lacks === undefined ? only : []),
  }),
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
  "merge-checks": ofChange(["merge"], "push", 19, {
    trusts: { plan: ["head", "base", "policy", "result"] },
    needs: ["approval"],
    bars: ({ mergeChecks }) =>
      mergeChecks.failed.map(({ application, failed }) => {
        const names = failed.map(({ name }) => name).join(", ");
        const checks = failed.length === 1 ? "the check" : "the checks";
        return { application, reason: `the merge would deploy it, and ${checks} ${names} failed` };
      }),
    step: (_, facts) => passing(facts.mergeChecks.failed, facts, "merge"),
  }),
  unchecked: ofChange(["merge"], "plan", 19, {
    trusts: { plan: ["head", "base", "policy"] },
    bars: ({ mergeChecks }) =>
      mergeChecks.missing.map((application) => ({
        application,
        reason: "the merge would deploy it, and its checks have changed since the plan",
      })),
    step: ({ only }, facts) => planning(facts, only),
  }),
  missed: ofChange(["sync", "merge"], "approval", 19, {
    trusts: { plan: ["head", "base", "policy", "result"] },
    bars: missedBars,
    step: (_, facts) => showing(facts),
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
  "withheld-sets": ofChange(["merge"], "approval", 16, {
    trusts: { plan: ["head", "base"] },
    bars: ({ plan }) =>
      (plan?.current === true ? plan.withheldSets : []).map((name) => ({
        application: applicationName(name),
        reason: "it is not previewed before the head is approved",
      })),
    step: (_, facts) => approving(facts, replanning(facts)),
  }),
  uncovered: ofEach(["sync"], "push", 16, {
    trusts: { plan: ["head", "base"] },
    needs: ["applications"],
    bars: ({ now, planned }) =>
      now === undefined ? (planned?.uncovered ? "Argo CD would ignore the change" : undefined) : now.uncovered,
    step: ({ bars }, { change }) => pushing("uncovered", namesIn(bars), change),
  }),
  "nothing-locked": ofChange(["sync", "rollback"], "plan", 5, {
    trusts: { locks: ["time"], records: ["time"] },
    bars: (facts, command) => {
      if (facts.asker === undefined) return [];
      const chosen = selectedOf(facts);
      const gone = chosen.some(({ lock, now }) => now !== undefined && lock === undefined);
      const over = command === "sync" ? gone : facts.change.state === "merged";
      return chosen.length === 0 || over ? [whole("nothing is locked")] : [];
    },
    refusal: () => ({ reason: "nothing-locked" }),
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
    step: ({ only }, facts) => planning(facts, only),
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
    refusal: ({ bars, others }, { applications }, command) => ({
      reason: "auto-sync",
      applications: namesIn(bars),
      inSteps: syncedInSteps(applications),
      others,
      ...(command === "rollback" ? { command } : {}),
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
      return failed || hasEndedAtHead(one, facts) ? "its sync did not succeed" : "it was not synced at the head commit";
    },
  }),
  "rules-approval": ofChange(["merge"], "approval", 20, {
    needs: ["approval"],
    bars: ({ missingForRules }) => (missingForRules === undefined ? [] : [file(missingForRules)]),
    step: ({ bars }) => ({ kind: "approve-rules", missing: bars.map(({ why }) => why).join("; ") }),
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

function stale({ bars, applications, others }: Barred, facts: Facts, command: Judged): Refusal {
  const named = new Map(bars.map((bar) => [bar.application, bar]));
  return {
    reason: "stale",
    applications: applications
      .filter(({ application }) => named.has(application))
      .map((one) => ({
        application: one.application,
        planFailure: one.planned?.failure,
        differs: one.now?.differs,
        moved: command === "rollback" ? RETARGETED : movedSince(one, facts, command),
      })),
    others,
  };
}

function notDone(command: "update" | "revert"): (barred: Barred) => Refusal {
  return ({ bars }) => ({ reason: "not-done", command, because: bars.map(({ why }) => why).join(", and ") });
}

/** A reason that concerns no single application. */
function whole(reason: string): ChangeBar {
  return { application: undefined, reason };
}

function file(reason: string): ChangeBar {
  return { application: applicationName(REPOSITORY_FILE), reason };
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
