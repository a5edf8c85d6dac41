import { z } from "zod";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import type { Reaction } from "../../core/ports/code-host.js";
import { HostRefusal } from "../host-refusal.js";
import { decodeAnswer } from "../json-answer.js";
import { idField } from "../payload-fields.js";
import type { GitLabClient } from "./client.js";
import { GITLAB } from "./words.js";

/** https://docs.gitlab.com/api/emoji_reactions/ */
const NAMES: Readonly<Record<Reaction, string>> = { seen: "eyes", done: "rocket", failed: "confused" };

const awardsSchema = z.array(z.object({ name: z.string(), user: z.object({ id: idField }) }));

/** GitLab refuses a second award of the same name with 404, as if the note were gone; which it was is looked up. */
export async function react(
  client: GitLabClient,
  change: ChangeRequestRef,
  noteId: string,
  reaction: Reaction,
  self: string,
): Promise<void> {
  const { repository, number } = change;
  const name = NAMES[reaction];
  const asked = `react to a comment on ${repository}!${number}`;
  try {
    await client.ask(asked, (api) => api.mergeRequestNoteAwardEmojis.award(repository, number, Number(noteId), name));
  } catch (error) {
    if (!(error instanceof HostRefusal && error.status === 404)) throw error;
    const data = await client.ask(asked, (api) =>
      api.mergeRequestNoteAwardEmojis.all(repository, number, Number(noteId)),
    );
    const awards = decodeAnswer(awardsSchema, data, GITLAB, asked);
    if (!awards.some((award) => award.name === name && award.user.id === self)) throw error;
  }
}
