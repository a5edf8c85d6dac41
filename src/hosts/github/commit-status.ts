import * as z from "zod";
import type { HeadRef } from "../../core/model/change-request.js";
import type { CodeHost, OpenWithHead } from "../../core/ports/code-host.js";
import { STATUS_NAME } from "../../names.js";
import { oneLine } from "../host-answer.js";
import type { GitHubClient } from "./client.js";
import { GITHUB } from "./words.js";

/** Sets the status in the base repository on the head commit, which works for forks as well. */
export function createSetStatus(client: GitHubClient): CodeHost["setStatus"] {
  return async ({ repository, number, headRevision }, status) => {
    await client.inRepository(repository, `set the commit status of ${repository}#${number}`, (octokit, at) =>
      octokit.rest.repos.createCommitStatus({
        ...at,
        sha: headRevision,
        context: STATUS_NAME,
        state: status.state,
        description: oneLine(status.description, GITHUB.maxStatusDescription - 1),
        ...(status.url === undefined ? {} : { target_url: status.url }),
      }),
    );
    return true;
  };
}

const PAGE_SIZE = 100;
/** Pages of open pull requests that one call of `openWithHead` reads. */
const MAX_PAGES = 10;

const OPEN_QUERY = `query ($owner: String!, $name: String!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequests(states: OPEN, first: ${PAGE_SIZE}, after: $after) {
      pageInfo { hasNextPage endCursor }
      nodes { number headRefOid }
    }
  }
}`;

const openSchema = z.object({
  pullRequests: z.object({
    pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullish() }),
    nodes: z.array(z.object({ number: z.int().positive(), headRefOid: z.string() }).nullable()),
  }),
});

/**
 * Reads all open pull requests. GitHub's list for a commit leaves out those from forks, and every open one as soon as the
 * default branch has the commit: https://docs.github.com/rest/commits/commits#list-pull-requests-associated-with-a-commit
 */
export async function openWithHead(client: GitHubClient, { repository, headRevision }: HeadRef): Promise<OpenWithHead> {
  const asked = `list the open pull requests of ${repository}`;
  const numbers: number[] = [];
  let after: string | null = null;
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const variables: Record<string, unknown> = { after };
    const { pullRequests } = await client.queryRepository(openSchema, repository, asked, OPEN_QUERY, variables);
    const { nodes, pageInfo } = pullRequests;
    numbers.push(...nodes.flatMap((node) => (node?.headRefOid === headRevision ? node.number : [])));
    if (!pageInfo.hasNextPage || !pageInfo.endCursor) return { numbers, cutOff: undefined };
    after = pageInfo.endCursor;
  }
  return { numbers, cutOff: `more than ${(MAX_PAGES * PAGE_SIZE).toLocaleString("en")} are open` };
}
