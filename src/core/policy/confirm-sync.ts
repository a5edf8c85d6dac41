import { isAutoSynced } from "../model/application-spec.js";
import { sameChangeRequest, type ChangeRequest } from "../model/change-request.js";
import type { Lock } from "../model/lock.js";
import type { Plan } from "../model/plan.js";
import type { Refusal } from "../model/result.js";
import type { LiveSubject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import { confirmAccess } from "./access.js";
import { approvalOf } from "./approval.js";
import { differingFrom, staleRefusal } from "./as-planned.js";
import { deployedOf, needsApproval } from "./effect-rules.js";

/** The subjects as they are right before the deployment. */
export interface Confirmed {
  readonly subjects: readonly LiveSubject[];
}

/** The target branch moved since the command started; `moved` has the new facts. */
export interface BaseMoved {
  readonly moved: ChangeRequest;
}

export interface ConfirmOptions {
  readonly dryRun: boolean;
  readonly withoutApproval: boolean;
  readonly plan: Plan | undefined;
}

/** Checks head, access, approval, locks and auto-sync again, right before the first call that deploys. */
export async function confirmSync(
  chosen: readonly Lock[],
  subjects: readonly LiveSubject[],
  context: CommandContext,
  { dryRun, withoutApproval, plan }: ConfirmOptions,
): Promise<Confirmed | BaseMoved | Refusal> {
  const { host, change, settings, deployer } = context;
  const names = chosen.map(({ application }) => application);
  const deployed = deployedOf(plan, names, change);
  const [now, access, approval, live, checked] = await Promise.all([
    host.getChangeRequest(change),
    confirmAccess("sync", deployed, context),
    !withoutApproval && needsApproval(deployed, settings) ? approvalOf(context) : undefined,
    Promise.all(subjects.map(({ name }) => deployer.findApplication(name))),
    Promise.all(chosen.map((lock) => checkLock(lock, dryRun, context))),
  ]);
  if (now.state !== "open") return { reason: "closed", state: now.state };
  if (now.headRevision !== change.headRevision || now.baseBranch !== change.baseBranch) return { reason: "head-moved" };
  if (now.baseRevision !== change.baseRevision) return { moved: now };
  if (access !== undefined) return access;
  if (approval?.approved === false) {
    return { reason: "not-approved", applications: names, missing: approval.missing ?? "", others: [] };
  }
  const held = checked.flatMap((one) => (one.kind === "held" ? [one.lock] : []));
  if (held.length > 0) return { reason: "locked-by-other", locks: held };
  if (checked.some(({ kind }) => kind === "free")) return { reason: "nothing-locked" };
  const autoSynced = live.filter((one) => one !== undefined).filter(({ spec }) => isAutoSynced(spec));
  if (autoSynced.length > 0) {
    const failing = autoSynced.map(({ name }) => name);
    return { reason: "auto-sync", applications: failing, others: names.filter((name) => !failing.includes(name)) };
  }
  const fresh = subjects.map((subject, index) => ({ ...subject, live: live[index] ?? subject.live }));
  const differing = differingFrom(plan, fresh, undefined, change);
  const passing = names.filter((name) => !differing.has(name));
  return staleRefusal(differing, passing) ?? { subjects: fresh };
}

type LockCheck = { readonly kind: "ours" | "free" } | { readonly kind: "held"; readonly lock: Lock };

/** Refreshes our lock, and says whether it is still ours. A dry run only reads. */
async function checkLock(lock: Lock, dryRun: boolean, { locks, clock }: CommandContext): Promise<LockCheck> {
  if (dryRun) {
    const found = await locks.find(lock.application);
    if (found === undefined) return { kind: "free" };
    return sameChangeRequest(found.holder, lock.holder) ? { kind: "ours" } : { kind: "held", lock: found };
  }
  const { application, holder, user, sourceFile } = lock;
  const attempt = await locks.acquire({ application, holder, user, sourceFile, planRevision: undefined }, clock.now());
  if (attempt.kind === "held") return attempt;
  if (!attempt.fresh) return { kind: "ours" };
  await locks.release(lock.application, lock.holder);
  return { kind: "free" };
}
