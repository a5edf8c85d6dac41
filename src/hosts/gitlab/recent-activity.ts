import { MergeRequestNotes, MergeRequests } from "@gitbeaker/rest";
import * as z from "zod";
import type { RepositoryName } from "../../core/model/brand.js";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import type { RecentActivity, RecentComment } from "../../core/ports/code-host.js";
import { commentField, idField, loginField, numberField, revisionField, timeField } from "../payload-fields.js";
import type { GitLabClient } from "./client.js";
import { isBot } from "./translate-event.js";

/** Merge requests of one look; each costs a call. */
const MAX_MERGE_REQUESTS = 50;
/** The newest notes of each. */
const MAX_NOTES = 100;

const mergeRequestsSchema = z.array(
  z.object({
    iid: numberField,
    state: z.string(),
    sha: revisionField.nullish(),
    updated_at: timeField,
  }),
);

const notesSchema = z.array(
  z.object({
    id: idField,
    body: commentField.nullish(),
    type: z.string().nullish(),
    system: z.boolean().nullish(),
    internal: z.boolean().nullish(),
    confidential: z.boolean().nullish(),
    author: z.object({ id: idField, username: loginField }).nullish(),
    created_at: timeField,
    updated_at: timeField,
  }),
);

/** One call for the merge requests, and one for each that changed. A note updates its merge request, as a push does. */
export async function recentActivity(
  client: GitLabClient,
  repository: RepositoryName,
  since: Date,
): Promise<RecentActivity> {
  const merges = await client.read(mergeRequestsSchema, `list the merge requests of ${repository}`, (gitlab) =>
    new MergeRequests(gitlab).all({
      projectId: repository,
      updatedAfter: since.toISOString(),
      orderBy: "updated_at",
      sort: "asc",
      perPage: MAX_MERGE_REQUESTS,
      page: 1,
    }),
  );
  const changed = merges.map((one) => ({ ...one, change: { host: "hostb", repository, number: one.iid } as const }));
  const comments: RecentComment[] = [];
  for (const { change } of changed) comments.push(...(await notesSince(client, change, since)));
  return {
    heads: changed.flatMap(({ change, state, sha, updated_at }) =>
      state === "opened" && sha ? [{ change, headRevision: sha, updatedAt: updated_at }] : [],
    ),
    comments: comments.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime()),
  };
}

async function notesSince(
  client: GitLabClient,
  change: ChangeRequestRef,
  since: Date,
): Promise<readonly RecentComment[]> {
  const { repository, number } = change;
  const notes = await client.read(notesSchema, `list the comments of ${repository}!${number}`, (gitlab) =>
    new MergeRequestNotes(gitlab).all(repository, number, {
      sort: "desc",
      orderBy: "created_at",
      perPage: MAX_NOTES,
      page: 1,
    }),
  );
  return notes.flatMap(({ id, body, type, system, internal, confidential, author, created_at, updated_at }) => {
    if (system === true || internal === true || confidential === true || type === "DiffNote" || !author) return [];
    if (created_at < since || updated_at.getTime() !== created_at.getTime()) return [];
    const by = { id: author.id, login: author.username, bot: isBot(author.username) };
    return [{ change, id, body: body ?? "", author: by, createdAt: created_at }];
  });
}
