import { REPOSITORY_FILE } from "../../names.js";
import { applicationName, shortRevision } from "../model/brand.js";
import type { NextStep } from "../model/next-step.js";
import type { Refusal } from "../model/result.js";
import { approving, passing, planning, pushing, replanning, selectedOf } from "./application-state.js";
import type { Facts } from "./facts.js";
import { type Barred, type ChangeBar, type Judged, rowsOf, type Rules } from "./gates.js";

const ofChange = rowsOf("change");

/** The gates of the whole change request. */
export const CHANGE_RULES = {
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
  "withheld-sets": ofChange(["merge"], "approval", 16, {
    trusts: { plan: ["head", "base"] },
    bars: ({ plan }) =>
      (plan?.current === true ? plan.withheldSets : []).map((name) => ({
        application: applicationName(name),
        reason: "it is not previewed before the head is approved",
      })),
    step: (_, facts) => approving(facts, replanning(facts)),
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
  "rules-approval": ofChange(["merge"], "approval", 20, {
    needs: ["approval"],
    bars: ({ missingForRules }) => (missingForRules === undefined ? [] : [file(missingForRules)]),
    step: ({ bars }) => ({ kind: "approve-rules", missing: bars.map(({ why }) => why).join("; ") }),
  }),
} satisfies Partial<Rules>;

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

/** The base branch, if it is not that of the plan. */
function retargetedTo({ plan, change }: Facts): string | undefined {
  return plan?.retargeted === true ? change.baseBranch : undefined;
}

/** A clause about the change request whose head or base branch moved. */
function whatMoved(facts: Facts): string {
  const base = retargetedTo(facts);
  return base === undefined ? "new commits were pushed" : `its base branch changed to ${base}`;
}

/** Applications that could not be evaluated, and that the merge or a sync of their parent would deploy. */
function missedBars({ missed = [], asker }: Facts, command: Judged): readonly ChangeBar[] {
  return missed.flatMap(({ application, reason, through }) => {
    if (command === "merge") return { application, reason: `the merge would deploy it, and ${reason}` };
    const parent = through.find((one) => asker?.selected.includes(one));
    if (parent === undefined || asker?.withoutApproval === true) return [];
    return { application, reason: `a sync of ${parent} would deploy it, and ${reason}` };
  });
}

/** Bars a sync and a merge while the plan lacks applications, and a merge by a plan of another head, which other gates hold against a sync. */
function notPlanned({ plan, asker, change }: Facts, command: Judged): readonly ChangeBar[] {
  if (plan?.current === true || command === "sync") {
    return (plan?.lacks ?? []).map((application) => ({ application, reason: LACKED }));
  }
  const involved = asker?.selected ?? [];
  const named = involved.length > 0 ? involved : [applicationName(shortRevision(change.headRevision))];
  return named.map((application) => ({ application, reason: "there is no stored plan of the head commit" }));
}

const LACKED =
  "it reads what changes here and is not in the plan: it came to Argo CD later, or changed there or on the base branch";

/** The step after which a plan shows, or somebody has approved, what could not be evaluated. */
function showing(facts: Facts): NextStep {
  const failed = facts.missed?.filter(({ withheld }) => !withheld) ?? [];
  if (failed.length === 0) return approving(facts, replanning(facts));
  const names = failed.map(({ application }) => application);
  return pushing("missed", names, facts.change);
}
