import { createHash } from "node:crypto";
import { sendIssueNote, sendMergeRequestNote } from "../hooks/note-body.js";
import type { Instance } from "../model/instance.js";
import type { Award, MergeRequest, Note } from "../model/merge-request.js";
import type { Person } from "../model/people.js";
import type { Project } from "../model/project.js";
import { findQuickActions } from "./quick-actions.js";

/** Adds a comment. Internal notes send no webhook, as that trigger is off. */
export async function addNote(
  instance: Instance,
  merge: MergeRequest,
  by: Person,
  body: string,
  options: { readonly internal?: boolean } = {},
): Promise<Note> {
  const note = newNote(instance, by, body, options);
  merge.notes.push(note);
  touch(merge, note);
  recordQuickActions(instance, merge, by, body);
  if (!note.internal) await sendMergeRequestNote(instance, merge, note, "create");
  return note;
}

/** A comment by its id; system notes do not count. */
export function commentOf(merge: MergeRequest, id: string): Note {
  const note = merge.notes.find((one) => String(one.id) === id && !one.system);
  if (note === undefined) throw new Error(`!${merge.iid} of ${merge.project.path} has no comment ${id}`);
  return note;
}

/** Edits a note. Quick actions work in edited notes too. */
export async function editNote(
  instance: Instance,
  merge: MergeRequest,
  note: Note,
  by: Person,
  body: string,
): Promise<void> {
  note.body = body;
  note.updatedAt = instance.now();
  note.updatedBy = by;
  recordQuickActions(instance, merge, by, body);
  if (!note.internal) await sendMergeRequestNote(instance, merge, note, "update");
}

/** An emoji reaction updates its note, too (`Note#bump_updated_at`). */
export function addAward(instance: Instance, note: Note, by: Person, name: string): Award {
  const award = { id: instance.nextId(), by, name, createdAt: instance.now() };
  note.awards.push(award);
  note.updatedAt = award.createdAt;
  return award;
}

export function addIssueNote(instance: Instance, project: Project, by: Person, body: string): void {
  const iid = (project.issueCount += 1);
  const issue = { id: instance.nextId(), iid, authorId: by.id, title: `Issue ${iid}`, createdAt: instance.now() };
  sendIssueNote(instance, project, issue, newNote(instance, by, body));
}

/** Adds a system note, which sends no webhook (`app/services/notes/post_process_service.rb`). */
export function addSystemNote(instance: Instance, merge: MergeRequest, by: Person, body: string): void {
  const note = newNote(instance, by, body, { system: true });
  merge.notes.push(note);
  touch(merge, note);
}

/** A note updates its merge request, once a minute at most (`app/models/concerns/throttled_touch.rb`). */
function touch(merge: MergeRequest, { createdAt }: Note): void {
  if (createdAt.getTime() - merge.updatedAt.getTime() > 60_000) merge.updatedAt = createdAt;
}

function newNote(
  instance: Instance,
  author: Person,
  body: string,
  options: { readonly internal?: boolean; readonly system?: boolean } = {},
): Note {
  const id = instance.nextId();
  const createdAt = instance.now();
  return {
    id,
    author,
    createdAt,
    updatedAt: createdAt,
    updatedBy: undefined,
    awards: [],
    body,
    system: options.system ?? false,
    internal: options.internal ?? false,
    discussion: createHash("sha1").update(String(id)).digest("hex"),
  };
}

function recordQuickActions(instance: Instance, merge: MergeRequest, by: Person, body: string): void {
  for (const action of findQuickActions(body)) {
    instance.quickActions.push({ by: by.username, repository: merge.project.path, number: merge.iid, action });
  }
}
