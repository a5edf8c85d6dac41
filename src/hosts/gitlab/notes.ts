import { MergeRequestNoteAwardEmojis, MergeRequestNotes } from "@gitbeaker/rest";
import * as z from "zod";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import type { OwnComment, Reaction } from "../../core/ports/code-host.js";
import { HostRefusal } from "../host-refusal.js";
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

/** Notes of the account with this id, oldest first, out of the first 5,000 of the merge request. */
export async function listNotesOf(
  client: GitLabClient,
  { repository, number }: ChangeRequestRef,
  account: string,
): Promise<readonly OwnComment[]> {
  const asked = `list the comments of ${repository}!${number}`;
  const order = { sort: "asc", orderBy: "created_at", perPage: PAGE_SIZE } as const;
  const own: OwnComment[] = [];
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const notes = await client.read(notesSchema, asked, (gitlab) =>
      new MergeRequestNotes(gitlab).all(repository, number, { ...order, page }),
    );
    for (const { id, body, system, author } of notes) {
      if (system !== true && author?.id === account) own.push({ id, body: body ?? "" });
    }
    if (notes.length < PAGE_SIZE) break;
  }
  return own;
}

/** Posts a plain note: an unresolved discussion could block the merge. */
export async function postNote(
  client: GitLabClient,
  { repository, number }: ChangeRequestRef,
  body: string,
): Promise<string> {
  const asked = `post a comment on ${repository}!${number}`;
  const data = await client.ask(asked, (gitlab) => new MergeRequestNotes(gitlab).create(repository, number, body));
  return decodeAnswer(z.object({ id: idField }), data, GITLAB, asked, true).id;
}

export async function editNote(
  client: GitLabClient,
  { repository, number }: ChangeRequestRef,
  noteId: string,
  body: string,
): Promise<void> {
  await client.ask(`edit a comment on ${repository}!${number}`, (gitlab) =>
    new MergeRequestNotes(gitlab).edit(repository, number, Number(noteId), { body }),
  );
}

/** https://docs.gitlab.com/api/emoji_reactions/ */
const EMOJIS: Readonly<Record<Reaction, string>> = { seen: "eyes", done: "rocket", failed: "confused" };

const awardsSchema = z.array(z.object({ name: z.string(), user: z.object({ id: idField }) }));

/** GitLab answers 404 both if the note is gone and if we gave this reaction before; the second is not an error. */
export async function react(
  client: GitLabClient,
  { repository, number }: ChangeRequestRef,
  noteId: string,
  reaction: Reaction,
  self: string,
): Promise<void> {
  const name = EMOJIS[reaction];
  const asked = `react to a comment on ${repository}!${number}`;
  try {
    await client.ask(asked, (gitlab) =>
      new MergeRequestNoteAwardEmojis(gitlab).award(repository, number, Number(noteId), name),
    );
  } catch (error) {
    if (!(error instanceof HostRefusal && error.status === 404)) throw error;
    const awards = await client.read(awardsSchema, asked, (gitlab) =>
      new MergeRequestNoteAwardEmojis(gitlab).all(repository, number, Number(noteId)),
    );
    if (!awards.some((award) => award.name === name && award.user.id === self)) throw error;
  }
}
