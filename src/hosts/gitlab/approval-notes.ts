import { MergeRequestNotes } from "@gitbeaker/rest";
import * as z from "zod";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import { idField } from "../host-answer.js";
import type { GitLabClient } from "./client.js";

const PAGE_SIZE = 100;
/** Anybody who may edit the merge request makes GitLab write notes. */
const MOST_PAGES = 10;
export const MOST_NOTES = PAGE_SIZE * MOST_PAGES;

/**
 * GitLab writes the note of an approval in the background, so that it may be newer than a push that followed the approval. Jobs of
 * this urgency wait for less than a minute: https://docs.gitlab.com/development/sidekiq/worker_attributes/#job-urgency
 */
export const MOST_NOTE_DELAY_MS = 5 * 60_000;

const APPROVED = "approved this merge request";
const UNAPPROVED = "unapproved this merge request";

const notesSchema = z.array(
  z.object({
    body: z.string().nullish(),
    system: z.boolean().nullish(),
    imported: z.boolean().nullish(),
    author: z.object({ id: idField }).nullish(),
    created_at: z.string(),
  }),
);

export interface NotedApprovals {
  /** The time since when each approval stands at the latest, by the approver's id, in milliseconds. */
  readonly times: ReadonlyMap<string, number>;
  /** There are more notes than are read. */
  readonly cutOff: boolean;
}

/** When these people approved, by GitLab's own notes: releases before 18.5 report no `approved_at`. */
export async function readNotedApprovals(
  client: GitLabClient,
  { repository, number }: ChangeRequestRef,
  approvers: ReadonlySet<string>,
): Promise<NotedApprovals> {
  const asked = `read when ${repository}!${number} was approved`;
  const newest = { sort: "desc", orderBy: "created_at", activityFilter: "only_activity", perPage: PAGE_SIZE } as const;
  const times = new Map<string, number>();
  const open = new Set(approvers);
  for (let page = 1; page <= MOST_PAGES && open.size > 0; page += 1) {
    const notes = await client.read(notesSchema, asked, (gitlab) =>
      new MergeRequestNotes(gitlab).all(repository, number, { ...newest, page }),
    );
    for (const { body, system, imported, author, created_at } of notes) {
      // People write notes with any text; only those that GitLab writes in their name tell what they did.
      if (system !== true || imported === true || author === null || author === undefined) continue;
      if (body !== APPROVED && body !== UNAPPROVED) continue;
      // The newest one counts: an approval that was taken back since has no time.
      if (open.delete(author.id) && body === APPROVED) times.set(author.id, Date.parse(created_at));
    }
    if (notes.length < PAGE_SIZE) return { times, cutOff: false };
  }
  return { times, cutOff: open.size > 0 };
}
