import { NO_COMMIT, recordPush } from "../activities.js";
import { openPullsFrom } from "../pull-acts.js";
import { renderActivity } from "../render/activity.js";
import { renderChangedFile, renderCommit } from "../render/commit.js";
import { renderBaseRepository } from "../render/repository.js";
import { renderUser } from "../render/user.js";
import { type Repository, type World } from "../world.js";
import { ApiError, notFound, page, type Answer, type Call, type Route } from "./call.js";

export const repositoryRoutes: readonly Route[] = [
  {
    method: "get",
    template: "/repos/{owner}/{repo}",
    caller: "installation",
    handle: ({ world, repository }) => ({
      status: 200,
      body: { ...renderBaseRepository(world, repository), network_count: 0, subscribers_count: 0 },
    }),
  },
  {
    method: "get",
    template: "/repos/{owner}/{repo}/branches/{branch}",
    caller: "installation",
    needs: [["contents", "read"]],
    handle: getBranch,
  },
  {
    method: "get",
    template: "/repos/{owner}/{repo}/rules/branches/{branch}",
    caller: "installation",
    handle: getRules,
  },
  {
    method: "delete",
    template: "/repos/{owner}/{repo}/git/refs/{ref}",
    caller: "installation",
    needs: [["contents", "write"]],
    handle: deleteRef,
  },
  {
    method: "get",
    template: "/repos/{owner}/{repo}/compare/{basehead}",
    caller: "installation",
    needs: [["contents", "read"]],
    handle: compare,
  },
  {
    method: "get",
    template: "/repos/{owner}/{repo}/activity",
    caller: "installation",
    needs: [["contents", "read"]],
    handle: listActivities,
  },
  {
    method: "get",
    template: "/repos/{owner}/{repo}/collaborators/{username}/permission",
    caller: "installation",
    handle: ({ world, repository, params }) => {
      const person = world.person(params.username ?? "");
      // Apps are no collaborators, whatever their installations may do.
      const level = person.type === "Bot" ? "none" : world.access(repository, person.login);
      const permissions = {
        pull: level !== "none",
        triage: level === "write" || level === "admin",
        push: level === "write" || level === "admin",
        maintain: level === "admin",
        admin: level === "admin",
      };
      const user = { ...renderUser(world, person), permissions, role_name: level };
      return { status: 200, body: { permission: level, role_name: level, user } };
    },
  },
];

async function getBranch({ world, repository, params }: Call): Promise<Answer> {
  const branch = params.branch ?? "";
  const tip = await world.store.resolve(repository.fullName, `refs/heads/${branch}`);
  const [commit] = tip === undefined ? [] : await world.store.commits(repository.fullName, tip, tip);
  if (commit === undefined) throw new ApiError(404, "Branch not found");
  const encoded = inUrl(branch);
  const self = `${world.apiUrl}/repos/${repository.fullName}/branches/${encoded}`;
  const isProtected = repository.protectedBranches.has(branch) || requiresReviews(repository, branch);
  return {
    status: 200,
    body: {
      name: branch,
      commit: renderCommit(world, repository, commit),
      _links: { self, html: `${world.url}/${repository.fullName}/tree/${encoded}` },
      protected: isProtected,
      protection: {
        enabled: isProtected,
        required_status_checks: { enforcement_level: "off", contexts: [], checks: [] },
      },
      protection_url: `${self}/protection`,
    },
  };
}

/** The rules of rulesets; metadata: read is enough. */
function getRules({ repository, params }: Call): Answer {
  const from = { ruleset_source_type: "Repository", ruleset_source: repository.fullName, ruleset_id: repository.id };
  const parameters = {
    check_response_timeout_minutes: 60,
    grouping_strategy: "ALLGREEN",
    max_entries_to_build: 5,
    max_entries_to_merge: 5,
    merge_method: "MERGE",
    min_entries_to_merge: 1,
    min_entries_to_merge_wait_minutes: 5,
  };
  const queue = { type: "merge_queue", parameters, ...from };
  return { status: 200, body: repository.mergeQueues.has(params.branch ?? "") ? [queue] : [] };
}

/** Newest first unless asked otherwise. Pages are found by a cursor, here the id before which they begin. */
function listActivities(call: Call): Answer {
  const { world, repository, query, url } = call;
  const ref = typeof query.ref === "string" ? query.ref.replace(/^(?!refs\/)/, "refs/heads/") : undefined;
  const size = Math.min(Math.max(Number(query.per_page ?? 30) || 30, 1), 100);
  const wanted = repository.activities
    .filter((one) => ref === undefined || one.ref === ref)
    .filter((one) => query.activity_type === undefined || one.type === query.activity_type)
    .filter((one) => query.actor === undefined || one.by.login === query.actor);
  if (query.direction !== "asc") wanted.reverse();
  const start = query.after === undefined ? 0 : wanted.findIndex(({ id }) => String(id) === query.after) + 1;
  const items = wanted.slice(start, start + size);
  const next = new URL(url);
  next.searchParams.set("after", String(items.at(-1)?.id));
  const more = start + size < wanted.length;
  return {
    status: 200,
    body: items.map((one) => renderActivity(world, one)),
    headers: more ? { Link: `<${next.href}>; rel="next"` } : {},
  };
}

/** A branch name in a URL, with its slashes. */
function inUrl(name: string): string {
  return name.split("/").map(encodeURIComponent).join("/");
}

/** Required reviews are a rule of the default branch and make it protected. */
function requiresReviews(repository: Repository, branch: string): boolean {
  return (repository.requiredReviews > 0 || repository.codeOwners.length > 0) && branch === repository.defaultBranch;
}

async function deleteRef({ world, repository, params, announce }: Call): Promise<Answer> {
  const ref = `refs/${params.ref ?? ""}`;
  const branch = ref.replace(/^refs\/heads\//, "");
  const before = await world.store.resolve(repository.fullName, ref);
  if (before === undefined) throw new ApiError(422, "Reference does not exist");
  if (branch === repository.defaultBranch || repository.protectedBranches.has(branch)) {
    throw new ApiError(422, "Cannot delete protected branch");
  }
  await world.store.setRef(repository.fullName, ref, undefined);
  recordPush(world, repository, { branch, before, after: NO_COMMIT, by: world.bot, type: "branch_deletion" });
  // Deleting the head branch closes a pull request, and so does deleting the base branch by the API.
  const into = [...repository.pulls.values()].filter((pull) => pull.state === "open" && pull.baseBranch === branch);
  for (const pull of [...openPullsFrom(world, repository, branch), ...into]) {
    pull.state = "closed";
    repository.closed += 1;
    pull.closedAt = world.now();
    announce.closed(pull);
  }
  return { status: 204 };
}

async function compare(call: Call): Promise<Answer> {
  const { world, repository } = call;
  const name = repository.fullName;
  const [baseName, headName] = (call.params.basehead ?? "").split("...");
  const [base, head] = await Promise.all([baseName, headName].map((side) => resolveSide(world, repository, side)));
  if (base === undefined || head === undefined) throw notFound();
  const mergeBase = await world.store.mergeBase(name, base, head);
  if (mergeBase === undefined) throw new ApiError(404, `No common ancestor between ${base} and ${head}.`);
  const [[baseCommit], [mergeBaseCommit], commits, ahead, behind, files] = await Promise.all([
    world.store.commits(name, base, base),
    world.store.commits(name, mergeBase, mergeBase),
    base === head ? [] : world.store.commits(name, base, head),
    base === head ? 0 : world.store.countCommits(name, base, head),
    mergeBase === base ? 0 : world.store.countCommits(name, head, base),
    world.store.changedPaths(name, mergeBase, head),
  ]);
  if (baseCommit === undefined || mergeBaseCommit === undefined) throw notFound();
  const { items, headers } = page(call, commits);
  const page1 = Number(call.query.page ?? 1) === 1;
  const html = `${world.url}/${name}/compare/${baseName ?? ""}...${headName ?? ""}`;
  return {
    status: 200,
    headers,
    body: {
      url: `${world.apiUrl}/repos/${name}/compare/${baseName ?? ""}...${headName ?? ""}`,
      html_url: html,
      permalink_url: `${world.url}/${name}/compare/${base}...${head}`,
      diff_url: `${html}.diff`,
      patch_url: `${html}.patch`,
      base_commit: renderCommit(world, repository, baseCommit),
      merge_base_commit: renderCommit(world, repository, mergeBaseCommit),
      status: ahead === 0 ? (behind === 0 ? "identical" : "behind") : behind === 0 ? "ahead" : "diverged",
      ahead_by: ahead,
      behind_by: behind,
      total_commits: ahead,
      commits: items.map((commit) => renderCommit(world, repository, commit)),
      // Only the first page has files, at most 300.
      ...(page1 ? { files: files.slice(0, 300).map((file) => renderChangedFile(world, repository, head, file)) } : {}),
    },
  };
}

/** A branch, an id, or `owner:branch` of a fork. */
async function resolveSide(
  world: World,
  repository: Repository,
  side: string | undefined,
): Promise<string | undefined> {
  if (side === undefined || side === "") return undefined;
  const [, owner, branch] = /^([^:]+):(.+)$/.exec(side) ?? [];
  if (owner === undefined || branch === undefined) return world.store.resolve(repository.fullName, side);
  const fork = world.repositories.get(`${owner}/${repository.name}`);
  return fork === undefined ? undefined : world.store.resolve(fork.fullName, branch);
}
