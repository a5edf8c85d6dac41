import { sendMergeRequestHook, stateIds, type HookChange } from "../hooks/merge-request-body.js";
import { hookTime, labelBody } from "../hooks/project-body.js";
import type { Instance } from "../model/instance.js";
import { draftTitle, isDraft, type MergeRequest } from "../model/merge-request.js";
import type { Person } from "../model/people.js";
import { addVersion, leaveTrain, readHead } from "./heads.js";

export async function closeMergeRequest(
  instance: Instance,
  merge: MergeRequest,
  by: Person = merge.author,
): Promise<void> {
  if (merge.state !== "opened") throw new Error(`!${merge.iid} is ${merge.state} and cannot be closed`);
  merge.state = "closed";
  leaveTrain(merge);
  merge.closedBy = by;
  merge.closedAt = instance.now();
  await changed(instance, merge, by, "close", { state_id: { previous: stateIds.opened, current: stateIds.closed } });
}

/** Picks up commits that were pushed while it was closed. */
export async function reopenMergeRequest(
  instance: Instance,
  merge: MergeRequest,
  by: Person = merge.author,
): Promise<void> {
  if (merge.state !== "closed") throw new Error(`!${merge.iid} is ${merge.state} and cannot be reopened`);
  merge.state = "opened";
  merge.closedBy = merge.closedAt = undefined;
  merge.conflicts = undefined;
  await readHead(instance, merge);
  await changed(instance, merge, by, "reopen", { state_id: { previous: stateIds.closed, current: stateIds.opened } });
}

export async function setTitle(instance: Instance, merge: MergeRequest, by: Person, title: string): Promise<void> {
  const before = { title: merge.title, draft: isDraft(merge) };
  if (title === before.title) return;
  merge.title = title;
  const draft = isDraft(merge);
  await changed(instance, merge, by, "update", {
    ...(draft === before.draft ? {} : { draft: { previous: before.draft, current: draft } }),
    title: { previous: before.title, current: title },
  });
}

export async function setDraft(instance: Instance, merge: MergeRequest, draft: boolean): Promise<void> {
  await setTitle(instance, merge, merge.author, draftTitle(merge.title, draft));
}

export async function setTarget(instance: Instance, merge: MergeRequest, branch: string): Promise<void> {
  const by = merge.author;
  const previous = merge.targetBranch;
  if ((await instance.store.resolve(merge.project.path, `refs/heads/${branch}`)) === undefined) {
    throw new Error(`${merge.project.path} has no branch ${branch}`);
  }
  merge.targetBranch = branch;
  leaveTrain(merge);
  await addVersion(instance, merge);
  await changed(instance, merge, by, "update", { target_branch: { previous, current: branch } });
}

export async function addLabel(instance: Instance, merge: MergeRequest, title: string): Promise<void> {
  const by = merge.author;
  const bodies = (): object[] => merge.labels.map((label) => labelBody(merge.project, label));
  const previous = bodies();
  const updatedBefore = merge.updatedBy?.id ?? null;
  merge.labels.push({ id: instance.nextId(), title, createdAt: instance.now() });
  merge.updatedBy = by;
  await changed(instance, merge, by, "update", {
    labels: { previous, current: bodies() },
    updated_by_id: { previous: updatedBefore, current: by.id },
  });
}

async function changed(
  instance: Instance,
  merge: MergeRequest,
  by: Person,
  action: "close" | "reopen" | "update",
  changes: Readonly<Record<string, HookChange>>,
): Promise<void> {
  const previous = hookTime(merge.updatedAt);
  merge.updatedAt = instance.now();
  const updated_at = { previous, current: hookTime(merge.updatedAt) };
  await sendMergeRequestHook(instance, merge, { by, action, changes: { ...changes, updated_at } });
}
