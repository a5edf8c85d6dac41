import { isAutoSynced } from "../model/application-spec.js";
import { sameChangeRequest, type ChangeRequest } from "../model/change-request.js";
import type { Lock } from "../model/lock.js";
import type { Refusal } from "../model/result.js";
import type { LiveSubject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import { confirmAccess } from "./access.js";
import { needsApproval } from "./checks.js";

/** The subjects as they are right before the deployment. */
export interface Confirmed {
  readonly subjects: readonly LiveSubject[];
}

/** The target branch moved since the command started; `moved` has the new facts. */
export interface BaseMoved {
  readonly moved: ChangeRequest;
}

/** Checks head, access, approval, locks and auto-sync again, right before the first call that deploys. */
export async function confirmSync(
  chosen: readonly Lock[],
  subjects: readonly LiveSubject[],
  context: CommandContext,
  { dryRun }: { readonly dryRun: boolean },
): Promise<Confirmed | BaseMoved | Refusal> {
  const { host, change, settings, deployer } = context;
  const names = chosen.map(({ application }) => application);
  const [now, access, approval, live, others] = await Promise.all([
    host.getChangeRequest(change),
    confirmAccess("sync", names, context),
    needsApproval(settings, names) ? host.approval(change) : undefined,
    Promise.all(subjects.map(({ name }) => deployer.findApplication(name))),
    Promise.all(chosen.map((lock) => holderUnlessOurs(lock, dryRun, context))),
  ]);
  if (now.state !== "open") return { reason: "closed", state: now.state };
  if (now.headRevision !== change.headRevision || now.baseBranch !== change.baseBranch) return { reason: "head-moved" };
  if (now.baseRevision !== change.baseRevision) return { moved: now };
  if (access !== undefined) return access;
  if (approval?.approved === false) {
    return { reason: "not-approved", applications: names, missing: approval.missing ?? "", others: [] };
  }
  const lost = others.filter((one) => one !== undefined);
  if (lost.length > 0) {
    const held = lost.filter((one) => one !== "nobody");
    return held.length > 0 ? { reason: "locked-by-other", locks: held } : { reason: "nothing-locked" };
  }
  const autoSynced = live.filter((one) => one !== undefined).filter(({ spec }) => isAutoSynced(spec));
  if (autoSynced.length > 0) {
    const failing = autoSynced.map(({ name }) => name);
    return { reason: "auto-sync", applications: failing, others: names.filter((name) => !failing.includes(name)) };
  }
  return { subjects: subjects.map((subject, index) => ({ ...subject, live: live[index] ?? subject.live })) };
}

/** Refreshes our lock. Undefined if it is still ours, otherwise who holds it. A dry run only reads. */
async function holderUnlessOurs(
  lock: Lock,
  dryRun: boolean,
  { locks, clock }: CommandContext,
): Promise<Lock | "nobody" | undefined> {
  if (dryRun) {
    const found = await locks.find(lock.application);
    if (found === undefined) return "nobody";
    return sameChangeRequest(found.holder, lock.holder) ? undefined : found;
  }
  const { application, holder, user, sourceFile } = lock;
  const attempt = await locks.acquire({ application, holder, user, sourceFile, planRevision: undefined }, clock.now());
  if (attempt.kind === "held") return attempt.lock;
  if (!attempt.fresh) return undefined;
  await locks.release(lock.application, lock.holder);
  return "nobody";
}
