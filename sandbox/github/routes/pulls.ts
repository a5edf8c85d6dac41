import { mergePull } from "../merge.js";
import { mergeBaseOf } from "../mergeability.js";
import { renderChangedFile } from "../render/commit.js";
import { renderPull, renderReview, renderSimplePull } from "../render/pull.js";
import type { Pull } from "../world.js";
import { ApiError, notFound, page, type Answer, type Call, type Route } from "./call.js";

const reading = [["pull_requests", "read"]] as const;

/** The list of changed files ends there, without a word. */
const maximumFiles = 3000;

export const pullRoutes: readonly Route[] = [
  {
    method: "get",
    template: "/repos/{owner}/{repo}/pulls",
    caller: "installation",
    needs: reading,
    handle: (call) => {
      const { items, headers } = page(call, selected(call));
      return { status: 200, body: items.map((pull) => renderSimplePull(call.world, pull)), headers };
    },
  },
  {
    method: "get",
    template: "/repos/{owner}/{repo}/pulls/{pull_number}",
    caller: "installation",
    needs: reading,
    handle: async (call) => ({ status: 200, body: await renderPull(call.world, pullOf(call), "api") }),
  },
  {
    method: "get",
    template: "/repos/{owner}/{repo}/pulls/{pull_number}/files",
    caller: "installation",
    needs: reading,
    handle: async (call) => {
      const { world, repository } = call;
      const pull = pullOf(call);
      const head = pull.headSha;
      const changed = await world.store.changedPaths(repository.fullName, await mergeBaseOf(world, pull), head);
      const { items, headers } = page(call, changed.slice(0, maximumFiles));
      return { status: 200, body: items.map((file) => renderChangedFile(world, repository, head, file)), headers };
    },
  },
  {
    method: "get",
    template: "/repos/{owner}/{repo}/pulls/{pull_number}/reviews",
    caller: "installation",
    needs: reading,
    handle: (call) => {
      const pull = pullOf(call);
      const { items, headers } = page(call, pull.reviews);
      return { status: 200, body: items.map((review) => renderReview(call.world, pull, review, "api")), headers };
    },
  },
  {
    method: "put",
    template: "/repos/{owner}/{repo}/pulls/{pull_number}/merge",
    caller: "installation",
    needs: [["contents", "write"]],
    handle: merge,
  },
];

async function merge(call: Call): Promise<Answer> {
  const { world, body, announce, token } = call;
  const pull = pullOf(call);
  const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
  await refuseWorkflows(call, pull, token?.permissions.workflows === "write");
  const method = body.merge_method === "squash" || body.merge_method === "rebase" ? body.merge_method : "merge";
  const refusal = await mergePull(world, pull, {
    method,
    by: world.bot,
    sha: text(body.sha),
    title: text(body.commit_title),
    text: text(body.commit_message),
  });
  if (refusal !== undefined) throw new ApiError(refusal.status, refusal.message);
  announce.closed(pull);
  const sha = pull.merged?.commit ?? "";
  return { status: 200, body: { sha, merged: true, message: "Pull Request successfully merged" } };
}

async function refuseWorkflows({ world, repository }: Call, pull: Pull, allowed: boolean): Promise<void> {
  if (allowed || pull.state !== "open") return;
  const from = await mergeBaseOf(world, pull);
  const files = await world.store.changedPaths(repository.fullName, from, pull.headSha);
  const workflow = files.find(({ path }) => path.startsWith(".github/workflows/"));
  if (workflow === undefined) return;
  const what = `refusing to allow a GitHub App to create or update workflow \`${workflow.path}\``;
  throw new ApiError(403, `${what} without \`workflows\` permission`);
}

function pullOf({ repository, params }: Call): Pull {
  const pull = repository.pulls.get(Number(params.pull_number));
  if (pull === undefined) throw notFound();
  return pull;
}

/** Newest first, open ones unless asked otherwise; `head` is `owner:branch`. */
function selected({ repository, query }: Call): Pull[] {
  const state = query.state ?? "open";
  const pulls = [...repository.pulls.values()].filter(
    (pull) =>
      (state === "all" || pull.state === state) &&
      (query.base === undefined || pull.baseBranch === query.base) &&
      (query.head === undefined || `${pull.headRepository.owner.login}:${pull.headBranch}` === query.head),
  );
  const newestFirst = (query.direction ?? "desc") === "desc";
  return newestFirst ? pulls.reverse() : pulls;
}
