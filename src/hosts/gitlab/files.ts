import * as z from "zod";
import type { RepositoryName } from "../../core/model/brand.js";
import { HostFailure } from "../../core/model/errors.js";
import type { FileContent, ForeignFile } from "../../core/ports/code-host.js";
import { isAside, repositoryAt } from "../host-answer.js";
import type { GitLabClient } from "./client.js";
import { GITLAB } from "./words.js";

/**
 * Without `ref` it is the default branch. REST answers 404 for a project that is hidden and for a file that does not exist.
 * https://docs.gitlab.com/api/graphql/reference/#repositoryblobs
 */
const FILES_QUERY = `query ($project: ID!, $paths: [String!]!, $follows: String, $aside: Boolean!) {
  project(fullPath: $project) {
    repository {
      standard: blobs(paths: $paths) { nodes { mode rawTextBlob } }
      followed: blobs(paths: $paths, ref: $follows) @include(if: $aside) { nodes { mode rawTextBlob } }
    }
  }
}`;

/** Links and what has no text are not files that can be read. */
const contentSchema = z
  .object({ nodes: z.array(z.object({ mode: z.string().nullish(), rawTextBlob: z.string().nullish() })).max(1) })
  .transform(({ nodes: [blob] }): FileContent => {
    if (blob === undefined) return { kind: "absent" };
    const { mode, rawTextBlob: text } = blob;
    const isRegular = mode === "100644" || mode === "100755";
    return isRegular && typeof text === "string" ? { kind: "text", text } : { kind: "unreadable" };
  });
/** Null for whoever may see the project, and not its files. */
const filesSchema = z.object({
  project: z
    .object({
      repository: z.object({ standard: contentSchema.nullish(), followed: contentSchema.nullish() }).nullish(),
    })
    .nullish(),
});

/** A file of a project that the token's account may read. @throws {HostFailure} if it may not. */
export async function readFile(
  client: GitLabClient,
  { repoURL, path, follows }: ForeignFile,
  server: Parameters<typeof repositoryAt>[1],
): Promise<readonly FileContent[] | undefined> {
  const repository = repositoryAt(repoURL, server);
  if (repository === undefined) return undefined;
  const asked = `read ${path} in ${repository}`;
  const variables = { project: repository, paths: [path], follows, aside: isAside(follows) };
  const { project } = await client.query(filesSchema, asked, FILES_QUERY, variables);
  const { standard, followed } = project?.repository ?? {};
  if (!standard || (variables.aside && !followed)) throw hidden(repository, asked);
  return followed ? [standard, followed] : [standard];
}

function hidden(repository: RepositoryName, asked: string): HostFailure {
  return new HostFailure("not-found", `GitLab could not ${asked}: ${repository} ${GITLAB.visibilityCure}`);
}
