import { renderUser } from "../render/user.js";
import { nodeId, type Status } from "../world.js";
import { ApiError, type Answer, type Call, type Route } from "./call.js";

/** Longer descriptions are refused with 422 (https://docs.github.com/rest/commits/statuses). */
const longestDescription = 140;
/** Most statuses of one context on one commit. */
const mostStatuses = 1000;
const states: readonly string[] = ["error", "failure", "pending", "success"] satisfies readonly Status["state"][];

export const statusRoutes: readonly Route[] = [
  {
    method: "post",
    template: "/repos/{owner}/{repo}/statuses/{sha}",
    caller: "installation",
    needs: [["statuses", "write"]],
    handle: createStatus,
  },
];

async function createStatus({ world, repository, params, body }: Call): Promise<Answer> {
  const sha = params.sha ?? "";
  const invalid = (message: string): ApiError => new ApiError(422, `Validation Failed: ${message}`);
  if ((await world.store.resolve(repository.fullName, sha)) !== sha) throw invalid(`No commit found for SHA: ${sha}`);
  const description = typeof body.description === "string" ? body.description : null;
  if ((description?.length ?? 0) > longestDescription) {
    throw invalid(`Description is too long (maximum is ${longestDescription} characters)`);
  }
  // https://github.com/ouzi-dev/commit-status-updater/issues/526
  if (/[\u{10000}-\u{10ffff}]/u.test(description ?? "")) throw invalid("description doesn't accept 4-byte Unicode");
  if (!isState(body.state)) throw invalid("State is not included in the list");
  const context = typeof body.context === "string" ? body.context : "default";
  const known = repository.statuses.get(sha) ?? [];
  const same = known.filter((one) => one.context.toLowerCase() === context.toLowerCase());
  if (same.length >= mostStatuses) throw invalid("This SHA and context has reached the maximum number of statuses.");
  const status: Status = {
    id: world.newId(),
    sha,
    context,
    state: body.state,
    description,
    targetUrl: typeof body.target_url === "string" ? body.target_url : null,
    createdAt: world.now(),
  };
  repository.statuses.set(sha, [...known, status]);
  return {
    status: 201,
    body: {
      url: `${world.apiUrl}/repos/${repository.fullName}/statuses/${sha}`,
      avatar_url: `${world.url}/avatars/in/${world.app.id}`,
      id: status.id,
      node_id: nodeId("SC", status.id),
      state: status.state,
      description,
      target_url: status.targetUrl,
      context,
      created_at: status.createdAt,
      updated_at: status.createdAt,
      creator: renderUser(world, world.bot),
    },
  };
}

function isState(value: unknown): value is Status["state"] {
  return typeof value === "string" && states.includes(value);
}
