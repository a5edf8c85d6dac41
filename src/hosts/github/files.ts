import * as z from "zod";
import type { RepositoryName } from "../../core/model/brand.js";
import type { FileContent, ForeignFile } from "../../core/ports/code-host.js";
import { isAside, repositoryAt } from "../host-answer.js";
import type { GitHubClient } from "./client.js";

/** A folder and a submodule are other objects than a blob; a link is a blob with the path that it leads to. */
const FILES_QUERY = `query ($owner: String!, $name: String!, $standard: String!, $followed: String!, $aside: Boolean!) {
  repository(owner: $owner, name: $name) {
    standard: object(expression: $standard) { __typename ...content }
    followed: object(expression: $followed) @include(if: $aside) { __typename ...content }
  }
}
fragment content on Blob { text isTruncated }`;

const contentSchema = z
  .object({ text: z.string().nullish(), isTruncated: z.boolean().nullish() })
  .nullable()
  .transform((blob): FileContent => {
    if (blob === null) return { kind: "absent" };
    const { text } = blob;
    return typeof text === "string" && blob.isTruncated === false ? { kind: "text", text } : { kind: "unreadable" };
  });
const filesSchema = z.object({ standard: contentSchema, followed: contentSchema.optional() });

/** A file of a repository on which the App is installed. @throws {HostFailure} if it is not. */
export async function readFile(
  client: GitHubClient,
  { repoURL, path, follows }: ForeignFile,
  server: Parameters<typeof repositoryAt>[1],
): Promise<readonly FileContent[] | undefined> {
  const repository = repositoryAt(repoURL, server);
  if (repository === undefined || !hasOwner(repository)) return undefined;
  const asked = `read ${path} in ${repository}`;
  const { standard, followed } = await client.queryRepository(filesSchema, repository, asked, FILES_QUERY, {
    standard: `HEAD:${path}`,
    followed: `${follows}:${path}`,
    aside: isAside(follows),
  });
  return followed === undefined ? [standard] : [standard, followed];
}

/** All of GitHub's repositories belong to an owner directly. */
function hasOwner(repository: RepositoryName): boolean {
  return repository.split("/").length === 2;
}
