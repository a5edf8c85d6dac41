import { MergeRequestNoteAwardEmojis, MergeRequestNotes, MergeRequests } from "@gitbeaker/rest";
import { LRUCache } from "lru-cache";
import * as z from "zod";
import type { RepositoryName } from "../../core/model/brand.js";
import { type ChangeRequestRef, identityKey, type User } from "../../core/model/change-request.js";
import { isFinal } from "../../core/model/errors.js";
import type { CodeHost, OwnComment, Reaction, RecentComment } from "../../core/ports/code-host.js";
import type { InTurn } from "../content-pace.js";
import {
  commentField,
  decodeAnswer,
  HostRefusal,
  idField,
  numberField,
  revisionField,
  timeField,
} from "../host-answer.js";
import { isTooLarge } from "../host-fetch.js";
import { withPresentName } from "./change-request.js";
import type { GitLabClient } from "./client.js";
import { userField } from "./webhook.js";
import { GITLAB } from "./words.js";

/** https://docs.gitlab.com/api/emoji_reactions/ */
const EMOJIS: Readonly<Record<Reaction, string>> = { seen: "eyes", done: "rocket", failed: "confused" };

const createdSchema = z.object({ id: idField });

type Notes = Pick<
  CodeHost,
  "listOwnComments" | "postComment" | "editComment" | "commentUrl" | "react" | "minimise" | "recentActivity"
>;

/** The notes of merge requests. */
export function createNotes(client: GitLabClient, self: () => Promise<User>, inTurn: InTurn): Notes {
  return {
    listOwnComments: async (change) => listOwn(client, change, (await self()).id),
    postComment: (change, body, posting) =>
      inTurn(change, posting, async () => {
        const { repository, number } = change;
        const asked = `post a comment on ${repository}!${number}`;
        // A plain note: an unresolved discussion could block the merge.
        const post = client.ask(asked, (gitlab) => new MergeRequestNotes(gitlab).create(repository, number, body));
        return decodeAnswer(createdSchema, await post, GITLAB, asked, true).id;
      }),
    async editComment({ repository, number }, noteId, body) {
      await client.ask(`edit a comment on ${repository}!${number}`, (gitlab) =>
        new MergeRequestNotes(gitlab).edit(repository, number, Number(noteId), { body }),
      );
    },
    commentUrl: (change, noteId) => `${change.webUrl}#note_${noteId}`,
    react: async (change, noteId, reaction) => react(client, change, Number(noteId), EMOJIS[reaction], await self()),
    minimise: () => Promise.resolve(),
    recentActivity: createRecentActivity(client),
  };
}

const awardsSchema = z.array(z.object({ name: z.string(), user: z.object({ id: idField }) }));

/** GitLab answers 404 both if the note is gone and if we gave this reaction before; the second is not an error. */
async function react(
  client: GitLabClient,
  { repository, number }: ChangeRequestRef,
  noteId: number,
  name: string,
  self: User,
): Promise<void> {
  const asked = `react to a comment on ${repository}!${number}`;
  try {
    await client.ask(asked, (gitlab) =>
      new MergeRequestNoteAwardEmojis(gitlab).award(repository, number, noteId, name),
    );
  } catch (error) {
    if (!(error instanceof HostRefusal && error.status === 404)) throw error;
    const awards = await client.read(awardsSchema, asked, (gitlab) =>
      new MergeRequestNoteAwardEmojis(gitlab).all(repository, number, noteId),
    );
    if (!awards.some((award) => award.name === name && award.user.id === self.id)) throw error;
  }
}

const PAGE_SIZE = 100;
/** A page that is never too large: GitLab takes a megabyte for each text, and escapes it to six times as much. */
const FEW = 5;

type NotesQuery = NonNullable<Parameters<MergeRequestNotes["all"]>[2]>;

/**
 * Reads notes page by page, in small ones where people write more than one answer may have. A short page may not be the last: GitLab
 * cuts the pages first, and then removes the notes that our account must not read, such as mentions in a private project
 * (`lib/api/notes.rb` of GitLab).
 */
export async function* notePages<Schema extends z.ZodType>(
  client: GitLabClient,
  { repository, number }: ChangeRequestRef,
  asked: string,
  { schema, most, ...query }: NotesQuery & { readonly schema: Schema; readonly most: number },
): AsyncGenerator<{ readonly notes: readonly z.output<Schema>[]; readonly more: boolean }> {
  const pageSchema = z.object({
    data: z.array(schema),
    paginationInfo: z.object({ next: z.number().nullable() }),
  });
  let [read, perPage, more] = [0, PAGE_SIZE, true];
  while (more && read < most) {
    const wanted = { ...query, page: read / perPage + 1, perPage, showExpanded: true } as const;
    const reading = client.read(pageSchema, asked, (gitlab) =>
      new MergeRequestNotes(gitlab).all(repository, number, wanted),
    );
    const found = await reading.catch(ifLarger(perPage));
    if (found === undefined) {
      perPage = FEW;
      continue;
    }
    more = found.paginationInfo.next !== null || found.data.length >= perPage;
    yield { notes: found.data, more };
    read += perPage;
    if (read % PAGE_SIZE === 0) perPage = PAGE_SIZE;
  }
}

const ownNoteSchema = z.object({
  id: idField,
  body: z.string().nullish(),
  system: z.boolean().nullish(),
  author: z.object({ id: idField }).nullish(),
});

const MOST_OWN_NOTES = 5000;

/** Notes of the account with this id, oldest first, out of the first 5,000 of the merge request. */
async function listOwn(
  client: GitLabClient,
  change: ChangeRequestRef,
  account: string,
): Promise<readonly OwnComment[]> {
  const asked = `list the comments of ${change.repository}!${change.number}`;
  const oldest = { schema: ownNoteSchema, most: MOST_OWN_NOTES, sort: "asc", orderBy: "created_at" } as const;
  const own: OwnComment[] = [];
  for await (const { notes } of notePages(client, change, asked, oldest)) {
    for (const { id, body, system, author } of notes) {
      if (system !== true && author?.id === account) own.push({ id, body: body ?? "" });
    }
  }
  return own;
}

/** Merge requests of a page; each costs a request. */
const MERGE_REQUESTS_PAGE = 50;
/** How many of the newest notes of a merge request one call of `recentActivity` reads. */
const MOST_RECENT_NOTES = 1000;
/** How many pages of merge requests one call reads at most. All but one repeat what the last call told; what comes after them is lost. */
const MAX_MERGE_PAGES = 200;
/** Merge requests whose last notes are remembered, and characters of all these notes: a comment has up to 65,536. */
const MAX_SETTLED = 10_000;
const MAX_SETTLED_CHARACTERS = 8 * 1024 * 1024;
/** The caller asks again from a minute before `readTo`, so a call that reads no further would be repeated forever. */
const OVERLAP_MS = 60_000;

const mergeRequestsSchema = z.array(
  z.object({
    iid: numberField,
    target_project_id: idField,
    target_branch: z.string().min(1).max(1000),
    state: z.string(),
    draft: z.boolean().nullish(),
    work_in_progress: z.boolean().nullish(),
    sha: revisionField.nullish(),
    updated_at: timeField,
    closed_at: timeField.nullish(),
    merged_at: timeField.nullish(),
  }),
);

type RecentMerge = z.output<typeof mergeRequestsSchema>[number];

const recentNoteSchema = z.object({
  id: idField,
  body: commentField.nullish(),
  type: z.string().nullish(),
  system: z.boolean().nullish(),
  internal: z.boolean().nullish(),
  confidential: z.boolean().nullish(),
  author: userField.nullish(),
  created_at: timeField,
  updated_at: timeField,
});

/** GitLab leaves `updated_at` as it is if a note comes within a minute of the last update (`ThrottledTouch`). */
const THROTTLED_MS = 60_000;

type RecentNotes = Awaited<ReturnType<typeof notesSince>>;

/** One call for the merge requests, and one for each that changed; further pages only where a page is full. */
function createRecentActivity(client: GitLabClient): CodeHost["recentActivity"] {
  const settled = new LRUCache<string, RecentNotes & { readonly of: string }>({
    max: MAX_SETTLED,
    maxSize: MAX_SETTLED_CHARACTERS,
    sizeCalculation: ({ comments }) => comments.reduce((sum, { body }) => sum + body.length, 1),
  });

  /** Reads the notes of a merge request again only while a new one might leave `updated_at` as it is. */
  async function notesOf({ updated_at }: RecentMerge, change: ChangeRequestRef, since: Date): Promise<RecentNotes> {
    const [key, of] = [identityKey(change), updated_at.toISOString()];
    const known = settled.get(key);
    if (known?.of === of && known.since <= since) {
      return { ...known, comments: known.comments.filter(({ createdAt }) => createdAt >= since) };
    }
    // Before the notes are read: what comes later counts as not read.
    const at = client.answeredAt()?.getTime() ?? 0;
    const notes = await notesSince(client, change, since);
    if (at > updated_at.getTime() + THROTTLED_MS) settled.set(key, { ...notes, of });
    return notes;
  }

  return async (given, since) => {
    const { repository } = (await withPresentName(client, given)) ?? given;
    const { merges, readTo } = await mergesSince(client, repository, since);
    const at = client.answeredAt();
    const changed: (RecentMerge & RecentNotes & { readonly change: ChangeRequestRef })[] = [];
    for (const one of merges) {
      const change = { host: "hostb", repository, repositoryId: one.target_project_id, number: one.iid } as const;
      changed.push({ ...one, change, ...(await notesOf(one, change, since)) });
    }
    return {
      at,
      readTo,
      heads: changed.flatMap(
        ({ change, state, sha, target_branch: baseBranch, updated_at: updatedAt, newest, ...one }) => {
          const isNew = updatedAt >= since || (newest !== undefined && newest.created_at >= since);
          const activity = `${updatedAt.toISOString()} ${newest?.id ?? ""}`;
          if (state !== "opened" || !sha || !isNew) return [];
          const draft = one.draft ?? one.work_in_progress ?? false;
          return [{ change, headRevision: sha, baseBranch, draft, updatedAt, activity }];
        },
      ),
      closed: changed.flatMap(({ change, state, closed_at, merged_at, updated_at }) => {
        if (state !== "closed" && state !== "merged") return [];
        const closedAt = merged_at ?? closed_at ?? updated_at;
        return closedAt >= since ? [{ change, closedAt }] : [];
      }),
      comments: changed
        .flatMap(({ comments }) => comments)
        .sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime()),
    };
  };
}

/**
 * Lists the merge requests that changed since then, the oldest change first. One that changes while svc reads moves to the end of the
 * list and shifts its pages, so each request asks by `updated_after` for what follows the last one. That parameter includes the time
 * that it is given (`app/models/concerns/updated_at_filterable.rb` of GitLab).
 */
async function mergesSince(client: GitLabClient, repository: RepositoryName, since: Date) {
  const found = new Map<number, RecentMerge>();
  let readTo: Date | undefined;
  let [after, page, perPage] = [new Date(since.getTime() - THROTTLED_MS), 1, MERGE_REQUESTS_PAGE];
  for (let pages = 1; pages <= MAX_MERGE_PAGES; pages += 1) {
    const updatedAfter = after.toISOString();
    const query = { projectId: repository, orderBy: "updated_at", sort: "asc", perPage } as const;
    const reading = client.read(mergeRequestsSchema, `list the merge requests of ${repository}`, (gitlab) =>
      new MergeRequests(gitlab).all({ ...query, updatedAfter, page }),
    );
    const listed = await reading.catch(ifLarger(perPage));
    if (listed === undefined) {
      [page, perPage] = [1, FEW];
      continue;
    }
    for (const one of listed) {
      found.delete(one.iid);
      found.set(one.iid, one);
    }
    readTo = listed.length < perPage ? undefined : listed.at(-1)?.updated_at;
    if (readTo === undefined || readTo.getTime() > since.getTime() + OVERLAP_MS) break;
    // One moment may have more than a page.
    page = readTo.getTime() === after.getTime() ? page + 1 : 1;
    after = readTo;
  }
  return { merges: [...found.values()], readTo };
}

/** For `catch`: undefined if a smaller page has to be asked for. */
function ifLarger(perPage: number): (error: unknown) => undefined {
  return (error) => {
    if (perPage === FEW || !isTooLarge(error)) throw error;
  };
}

/** What people wrote, and the newest note: GitLab itself writes one for each approval. */
async function notesSince(client: GitLabClient, change: ChangeRequestRef, since: Date) {
  const asked = `list the comments of ${change.repository}!${change.number}`;
  const order = { schema: recentNoteSchema, most: MOST_RECENT_NOTES, sort: "desc", orderBy: "created_at" } as const;
  const found = new Map<string, z.output<typeof recentNoteSchema>>();
  for await (const { notes: listed } of notePages(client, change, asked, order)) {
    for (const note of listed) found.set(note.id, note);
    const oldest = listed.at(-1)?.created_at;
    if (oldest !== undefined && oldest < since) break;
  }
  const notes = [...found.values()];
  const recent = notes.filter(({ created_at }) => created_at >= since);
  const updated = recent.filter(({ created_at: at, updated_at }) => updated_at.getTime() !== at.getTime());
  const edited = updated.length === 0 ? [] : await editedOf(client, change, updated).catch(allIfRefused(updated));
  const comments = recent.flatMap((note): readonly RecentComment[] => {
    const { id, body, type, system, internal, confidential, author, created_at } = note;
    if (system === true || internal === true || confidential === true || type === "DiffNote" || !author) return [];
    return edited.includes(note) ? [] : [{ change, id, body: body ?? "", author, createdAt: created_at }];
  });
  const newest = notes[0] && { id: notes[0].id, created_at: notes[0].created_at };
  return { comments, newest, since };
}

const EDITS_QUERY = `query ($path: ID!, $iid: String!) {
  project(fullPath: $path) {
    mergeRequest(iid: $iid) { notes(last: ${PAGE_SIZE}) { nodes { id body lastEditedBy { id } } } }
  }
}`;
/** `lastEditedAt` would tell nothing: without an edit it is the time of the last update (`Note#last_edited_at` of GitLab). */
const editedNote = z.object({ id: z.string(), body: z.string(), lastEditedBy: z.unknown() });
/** What GraphQL does not show is null. */
const editsSchema = z.object({
  project: z
    .object({ mergeRequest: z.object({ notes: z.object({ nodes: z.array(editedNote.nullable()) }) }).nullable() })
    .nullable(),
});

/** Where GitLab will never tell, as one that is too old or has too much text, all of them count as edited. */
function allIfRefused<Note>(notes: readonly Note[]): (error: unknown) => readonly Note[] {
  return (error) => {
    if (isFinal(error) || isTooLarge(error)) return notes;
    throw error;
  };
}

/**
 * Which of these notes were edited, or are not among the newest. A reaction updates a note as well (`Note#bump_updated_at` of
 * GitLab), and REST does not tell these apart. This answer may be older than the notes, from another copy of GitLab's database: of
 * one that was edited since then, it has another text.
 */
async function editedOf<Note extends Pick<z.output<typeof recentNoteSchema>, "id" | "body">>(
  client: GitLabClient,
  { repository: path, number }: ChangeRequestRef,
  notes: readonly Note[],
): Promise<readonly Note[]> {
  const asked = `read whether comments of ${path}!${number} were edited`;
  const { project } = await client.query(editsSchema, asked, EDITS_QUERY, { path, iid: String(number) });
  const nodes = project?.mergeRequest?.notes.nodes ?? [];
  const unedited = nodes.flatMap((note) => (note?.lastEditedBy === null ? [note] : []));
  // A global id, such as `gid://gitlab/DiscussionNote/7`.
  const texts = new Map(unedited.map(({ id, body }) => [id.slice(id.lastIndexOf("/") + 1), body]));
  return notes.filter(({ id, body }) => texts.get(id) !== (body ?? ""));
}
