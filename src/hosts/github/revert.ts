import * as z from "zod";
import type { ChangeRequest, User } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import type { RevertOutcome } from "../../core/ports/code-host.js";
import { HostRefusal, idField, numberField } from "../host-answer.js";
import { readRevertBody, revertBody, revertTitle } from "../revert-marker.js";
import type { GitHubClient } from "./client.js";

const ID_QUERY = `query ($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { id } }
}`;
const idSchema = z.object({ id: z.string().min(1) });

/** Only GraphQL reverts; it makes the branch, the commit and the pull request: https://docs.github.com/graphql/reference/mutations#revertpullrequest */
const REVERT = `mutation ($pull: ID!, $title: String!, $body: String!) {
  revertPullRequest(input: { pullRequestId: $pull, title: $title, body: $body }) { revertPullRequest { number } }
}`;
const revertedSchema = z.object({
  revertPullRequest: z.object({ revertPullRequest: z.object({ number: numberField }) }),
});

/** Opens a revert, or finds the open one. Whatever failed, it looks whether the revert is there before it says so. */
export async function revert(
  client: GitHubClient,
  change: ChangeRequest,
  asker: User,
  self: string,
): Promise<RevertOutcome> {
  const known = await findRevert(client, change, self);
  if (known !== undefined) return { kind: "opened", number: known, known: true };
  const asked = `revert ${change.repository}#${change.number}`;
  const { id } = await client.queryPullRequest(idSchema, change, asked, ID_QUERY);
  const variables = {
    pull: id,
    title: revertTitle(change.title),
    body: revertBody(`#${change.number}`, change.number, asker),
  };
  try {
    const { revertPullRequest: made } = await client.read(
      revertedSchema,
      change.repository,
      asked,
      async (octokit) => ({
        data: await octokit.graphql<unknown>(REVERT, variables),
      }),
    );
    return { kind: "opened", number: made.revertPullRequest.number, known: false };
  } catch (error) {
    if (error instanceof HostRefusal && error.status === 200 && error.reason === "failed") {
      return { kind: "refused", reason: `GitHub says "${error.hostMessage}". Revert it with git` };
    }
    if (!(error instanceof HostFailure)) throw error;
    const made = await findRevert(client, change, self);
    if (made === undefined) throw error;
    return { kind: "opened", number: made, known: false };
  }
}

const MOST_PAGES = 10;
const listSchema = z.array(
  z.object({
    number: numberField,
    body: z.string().nullish(),
    user: z.object({ id: idField }).nullish(),
    base: z.object({ ref: z.string() }),
  }),
);

/** Finds the open revert that svc has made before. @throws {HostFailure} if too many pull requests are open to read them all. */
async function findRevert(client: GitHubClient, change: ChangeRequest, self: string): Promise<number | undefined> {
  const asked = `list the open pull requests of ${change.repository}`;
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const listed = await client.read(listSchema, change.repository, asked, ({ rest }, at) =>
      rest.pulls.list({ ...at, state: "open", per_page: 100, page }),
    );
    const found = listed.find(
      ({ user, body, base }) =>
        user?.id === self && base.ref === change.baseBranch && readRevertBody(body ?? "")?.of === change.number,
    );
    if (found !== undefined) return found.number;
    if (listed.length < 100) return undefined;
  }
  throw new HostFailure(
    "failed",
    `${change.repository} has too many open pull requests to find out whether one reverts #${change.number} already.`,
  );
}
