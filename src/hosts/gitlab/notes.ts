import { z } from "zod";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import type { OwnComment } from "../../core/ports/code-host.js";
import { decodeAnswer } from "../json-answer.js";
import { idField } from "../payload-fields.js";
import type { GitLabClient } from "./client.js";
import { GITLAB } from "./words.js";

const PAGE_SIZE = 100;
const MAX_PAGES = 50;

const notesSchema = z.array(
  z.object({
    id: idField,
    body: z.string().nullish(),
    system: z.boolean().nullish(),
    author: z.object({ id: idField }).nullish(),
  }),
);

/** Notes of the account with this id, oldest first, out of the first 5,000. */
export async function listNotesOf(
  client: GitLabClient,
  change: ChangeRequestRef,
  account: string,
): Promise<readonly OwnComment[]> {
  const asked = `list the comments of ${change.repository}!${change.number}`;
  const own: OwnComment[] = [];
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const data = await client.ask(asked, (api) =>
      api.mergeRequestNotes.all(change.repository, change.number, {
        sort: "asc",
        orderBy: "created_at",
        perPage: PAGE_SIZE,
        page,
      }),
    );
    const notes = decodeAnswer(notesSchema, data, GITLAB, asked);
    for (const { id, body, system, author } of notes) {
      if (system !== true && author?.id === account) own.push({ id, body: body ?? "" });
    }
    if (notes.length < PAGE_SIZE) break;
  }
  return own;
}

/** A plain note: a discussion could be left unresolved and so hinder the merge. */
export async function postNote(client: GitLabClient, change: ChangeRequestRef, body: string): Promise<string> {
  const asked = `post a comment on ${change.repository}!${change.number}`;
  const data = await client.ask(asked, (api) => api.mergeRequestNotes.create(change.repository, change.number, body));
  return decodeAnswer(z.object({ id: idField }), data, GITLAB, asked, true).id;
}

export async function editNote(
  client: GitLabClient,
  change: ChangeRequestRef,
  noteId: string,
  body: string,
): Promise<void> {
  const asked = `edit a comment on ${change.repository}!${change.number}`;
  await client.ask(asked, (api) =>
    api.mergeRequestNotes.edit(change.repository, change.number, Number(noteId), { body }),
  );
}
