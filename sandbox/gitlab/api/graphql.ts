import type { RequestHandler } from "express";
import { buildSchema, execute, GraphQLError, type GraphQLSchema } from "graphql";
import { z } from "zod";
import { FOLDER_MODE } from "../../git/tree-entries.js";
import { queryReader } from "../../graphql-queries.js";
import type { CommitFacts } from "../model/commit-reader.js";
import type { Instance } from "../model/instance.js";
import { type MergeRequest, newestVersion } from "../model/merge-request.js";
import type { Person } from "../model/people.js";
import type { Project } from "../model/project.js";

/** The part of GitLab's schema that the sandbox serves (https://docs.gitlab.com/api/graphql/reference/). */
const SCHEMA = `
scalar UserID
scalar NoteID
scalar Time
type Query { project(fullPath: ID!): Project }
type Project { mergeRequest(iid: String!): MergeRequest repository: Repository }
type Repository { blobs(paths: [String!]!, ref: String): RepositoryBlobConnection }
type RepositoryBlobConnection { nodes: [RepositoryBlob] }
type RepositoryBlob { mode: String rawTextBlob: String }
type MergeRequest {
  commits(after: String, before: String, first: Int, last: Int): CommitConnection
  committers(after: String, before: String, first: Int, last: Int): UserCoreConnection
  diffHeadSha: String
  notes(after: String, before: String, first: Int, last: Int): NoteConnection
}
type NoteConnection { nodes: [Note] }
type Note { id: NoteID! body: String! lastEditedAt: Time lastEditedBy: UserCore }
type CommitConnection { nodes: [Commit] pageInfo: PageInfo! }
type UserCoreConnection { nodes: [UserCore] pageInfo: PageInfo! }
type PageInfo { endCursor: String hasNextPage: Boolean! }
type Commit { sha: String! author: UserCore authorEmail: String committerEmail: String }
type UserCore { id: UserID! username: String! }
`;

let known: GraphQLSchema | undefined;

function schema(): GraphQLSchema {
  return (known ??= buildSchema(SCHEMA, { noLocation: true }));
}

const requestSchema = z.object({ query: z.string(), variables: z.record(z.string(), z.unknown()).nullish() });

/** Answers `POST /api/graphql`. Whatever the schema lacks is an error in an answer with status 200, and a violation. */
export function graphqlEndpoint(instance: Instance): RequestHandler {
  return async (request, response) => {
    const given = requestSchema.safeParse(request.body);
    const document = given.success ? readQuery(given.data.query) : { errors: [new GraphQLError("No query")] };
    if ("errors" in document) {
      for (const { message } of document.errors) instance.violations.push(`POST /api/graphql: ${message}`);
      response.json({ errors: document.errors.map(({ message }) => ({ message })) });
      return;
    }
    const result = await execute({
      schema: schema(),
      document,
      rootValue: { project: ({ fullPath }: { fullPath: string }) => project(instance, fullPath) },
      variableValues: given.data?.variables ?? {},
    });
    for (const { message } of result.errors ?? []) instance.violations.push(`POST /api/graphql: ${message}`);
    response.json(result);
  };
}

const readQuery = queryReader(schema);

type Resolved = Readonly<Record<string, unknown>>;

interface Page {
  readonly first?: number | null;
  readonly after?: string | null;
}

/** Null for what does not exist or is hidden from the token's account. */
function project(instance: Instance, fullPath: string): Resolved | null {
  const found = [...instance.projects.values()].find(({ path }) => path.toLowerCase() === fullPath.toLowerCase());
  if (!found?.members.has(instance.bot.id)) return null;
  return {
    repository: repository(instance, found),
    mergeRequest: ({ iid }: { iid: string }) => {
      const merge = instance.mergeRequests.find((one) => one.project === found && String(one.iid) === iid);
      return merge === undefined ? null : mergeRequest(instance, merge);
    },
  };
}

/** Null for guests, who may not read the files of a private project. Folders have no blobs. */
function repository({ bot, store }: Instance, { path, members }: Project): Resolved | null {
  if ((members.get(bot.id) ?? 0) < REPORTER) return null;
  return {
    blobs: ({ paths, ref }: { paths: readonly string[]; ref?: string | null }) => ({
      nodes: paths.flatMap((name) => {
        const entry = store.entryAt(path, ref ?? "HEAD", name);
        if (entry === undefined || entry.mode === FOLDER_MODE) return [];
        const text = entry.content.includes(0) ? null : entry.content.toString("utf8");
        return [{ mode: entry.mode, rawTextBlob: text }];
      }),
    }),
  };
}

/** The lowest role that may read files. */
const REPORTER = 20;

function mergeRequest(instance: Instance, merge: MergeRequest): Resolved {
  return {
    diffHeadSha: merge.head,
    commits: async (page: Page) => {
      const nodes = (await commitsOf(instance, merge)).map((commit) => ({
        sha: commit.id,
        author: userOf(instance, commit.authorEmail),
        authorEmail: commit.authorEmail,
        committerEmail: commit.committerEmail,
      }));
      return onePage(nodes, page);
    },
    notes: ({ last }: { readonly last: number }) => ({
      nodes: merge.notes.slice(-last).map(({ id, body, updatedBy, updatedAt }) => ({
        id: `gid://gitlab/Note/${id}`,
        body,
        // Without an edit it is the time of the last update (`Note#last_edited_at`).
        lastEditedAt: updatedAt.toISOString(),
        lastEditedBy: updatedBy === undefined ? null : shown(updatedBy),
      })),
    }),
    // Without those of merge commits (`CommitCollection#committers`).
    committers: async (page: Page) => {
      const commits = (await commitsOf(instance, merge)).filter(({ parents }) => parents.length < 2);
      const people = commits.map(({ committerEmail }) => instance.people.withEmail(committerEmail));
      return onePage(
        [...new Set(people)].flatMap((person) => (person === undefined ? [] : [shown(person)])),
        page,
      );
    },
  };
}

/** Those of the newest diff version: GitLab keeps them, also once the target branch has them. */
async function commitsOf({ store, commits }: Instance, merge: MergeRequest): Promise<readonly CommitFacts[]> {
  const { path } = merge.project;
  const base = await store.mergeBase(path, newestVersion(merge).start, merge.head);
  return commits.between(path, base ?? merge.head, merge.head);
}

function userOf(instance: Instance, email: string): Resolved | null {
  const person = instance.people.withEmail(email);
  return person === undefined ? null : shown(person);
}

function shown({ id, username }: Person): Resolved {
  return { id: `gid://gitlab/User/${id}`, username };
}

/** At most 100 nodes; a cursor is the number of nodes before it. */
function onePage(nodes: readonly unknown[], { first, after }: Page): Resolved {
  const start = Number(after ?? 0);
  const end = start + Math.min(first ?? 100, 100);
  const pageInfo = { hasNextPage: nodes.length > end, endCursor: String(Math.min(end, nodes.length)) };
  return { nodes: nodes.slice(start, end), pageInfo };
}
