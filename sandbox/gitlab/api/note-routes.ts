import type { Router } from "express";
import { addNote, editNote } from "../acts/notes.js";
import type { Instance } from "../model/instance.js";
import type { MergeRequest, Note } from "../model/merge-request.js";
import { ApiFailure, serve, type Answer } from "./call.js";
import * as endpoints from "./endpoints.js";
import { page } from "./paging.js";
import { showNote } from "./present-merge-request.js";

/** Longest note, in characters (https://docs.gitlab.com/administration/instance_limits/). */
const longest = 1_000_000;

/** Lists, creates and edits comments of a merge request. */
export function noteRoutes(router: Router, instance: Instance): void {
  router.get(
    endpoints.listNotes.path,
    serve(instance, endpoints.listNotes, (call) => {
      const merge = call.mergeRequest();
      const { order_by, sort, activity_filter } = call.query;
      const wanted = merge.notes
        .filter((note) => isWanted(note, activity_filter))
        .sort((a, b) => order(a, b, order_by));
      if (sort !== "asc") wanted.reverse();
      const shown = wanted.map((note) => showNote(instance, merge, note));
      return page(call.url, shown, call.query);
    }),
  );
  router.post(
    endpoints.createNote.path,
    serve(instance, endpoints.createNote, async (call): Promise<Answer> => {
      const merge = call.mergeRequest();
      const { body, internal, confidential } = call.body;
      checkText(body);
      const note = await addNote(instance, merge, instance.bot, body, { internal: internal ?? confidential });
      return { status: 201, body: showNote(instance, merge, note) };
    }),
  );
  router.put(
    endpoints.editNote.path,
    serve(instance, endpoints.editNote, async (call) => {
      const merge = call.mergeRequest();
      const note = findNote(merge, call.param("note"));
      if (note.author !== instance.bot && (merge.project.members.get(instance.bot.id) ?? 0) < 40) {
        throw new ApiFailure(403, "403 Forbidden");
      }
      const { body } = call.body;
      if (body !== undefined) {
        checkText(body);
        await editNote(instance, merge, note, instance.bot, body);
      }
      return { body: showNote(instance, merge, note) };
    }),
  );
}

function isWanted(note: Note, filter: "all_notes" | "only_comments" | "only_activity" | undefined): boolean {
  if (filter === "only_comments") return !note.system;
  return filter !== "only_activity" || note.system;
}

function order(a: Note, b: Note, by: "created_at" | "updated_at" | undefined): number {
  const time = (note: Note): number => (by === "updated_at" ? note.updatedAt : note.createdAt).getTime();
  return time(a) - time(b) || a.id - b.id;
}

/** A comment by its id; system notes do not count. */
export function findNote(merge: MergeRequest, id: string): Note {
  if (!/^\d+$/.test(id)) throw new ApiFailure(400, "note_id is invalid", "error");
  const note = merge.notes.find((one) => String(one.id) === id && !one.system);
  if (note === undefined) throw new ApiFailure(404, "404 Note Not Found");
  return note;
}

function checkText(body: string): void {
  if (body.trim() === "") throw new ApiFailure(400, `400 Bad request - Note {:note=>["can't be blank"]}`);
  if (body.length > longest) {
    throw new ApiFailure(400, `400 Bad request - Note {:note=>["is too long (maximum is ${longest} characters)"]}`);
  }
}
