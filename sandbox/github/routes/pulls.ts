import { mergePull } from "../merge.js";
import { baseTip, mergeBaseOf } from "../mergeability.js";
import { renderPull, renderSimplePull } from "../render/pull.js";
import type { Pull } from "../world.js";
import { ApiError, notFound, page, type Answer, type Call, type Route } from "./call.js";

export const pullRoutes: readonly Route[] = [
  {
    method: "get",
    template: "/repos/{owner}/{repo}/pulls",
    caller: "installation",
    needs: [["pull_requests", "read"]],
    handle: listPulls,
  },
  {
    method: "get",
    template: "/repos/{owner}/{repo}/pulls/{pull_number}",
    caller: "installation",
    needs: [["pull_requests", "read"]],
    handle: async (call) => {
      await pullOf(call).updating?.look();
      return { status: 200, body: await renderPull(call.world, pullOf(call), "api") };
    },
  },
  {
    method: "put",
    template: "/repos/{owner}/{repo}/pulls/{pull_number}/merge",
    caller: "installation",
    needs: [["contents", "write"]],
    handle: merge,
  },
  {
    method: "put",
    template: "/repos/{owner}/{repo}/pulls/{pull_number}/update-branch",
    caller: "installation",
    needs: [["contents", "write"]],
    handle: updateBranch,
  },
];

/** Sorted by their creation, newest first, unless the query says otherwise. */
function listPulls(call: Call): Answer {
  const { state = "open", sort = "created", direction, base, head } = call.query;
  const time = (pull: Pull) => Date.parse(sort === "updated" ? pull.updatedAt : pull.createdAt);
  const upwards = direction === "asc" ? 1 : -1;
  const wanted = [...call.repository.pulls.values()]
    .filter((pull) => state === "all" || pull.state === state)
    .filter((pull) => base === undefined || pull.baseBranch === base)
    .filter(
      (pull) => head === undefined || `${pull.headRepository.fullName.split("/")[0] ?? ""}:${pull.headBranch}` === head,
    )
    .sort((one, other) => upwards * (time(one) - time(other) || one.number - other.number));
  const { items, headers } = page(call, wanted);
  return { status: 200, body: items.map((pull) => renderSimplePull(call.world, pull)), headers };
}

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

/** https://docs.github.com/rest/pulls/pulls#update-a-pull-request-branch */
async function updateBranch(call: Call): Promise<Answer> {
  const { world, body, announce, url } = call;
  const pull = pullOf(call);
  const { fullName } = pull.repository;
  if (typeof body.expected_head_sha === "string" && body.expected_head_sha !== pull.headSha) {
    throw new ApiError(422, "expected head sha didn’t match current head ref.");
  }
  const base = await baseTip(world, pull);
  if (await world.store.isAncestor(fullName, base, pull.headSha)) {
    throw new ApiError(422, "There are no new commits on the base branch.");
  }
  if (await world.store.conflicts(fullName, base, pull.headSha)) {
    throw new ApiError(422, "merge conflict between base and head");
  }
  announce.updates(pull);
  return { status: 202, body: { message: "Updating pull request branch.", url: url.href } };
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
