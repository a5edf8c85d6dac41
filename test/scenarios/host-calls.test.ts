import { describe, expect, test } from "@jest/globals";
import { compareCalls } from "../host-calls.js";
import { REPOSITORY, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

/** Requests that this conversation does not make; what makes them compares them with the table as well. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  // Logins (test/web/auth) and setup (test/setup).
  GitHub: [
    // Where nothing is open (test/contract), the trial, and `svc update`.
    "GET /repos/{owner}/{repo}",
    "GET /installation/repositories",
    "PUT /repos/{owner}/{repo}/pulls/{pull_number}/update-branch",
    "POST /login/oauth/access_token",
    "GET /user",
    "GET /user/emails",
    "GET /user/memberships/orgs/{org}",
    "GET /user/teams",
    "POST /app-manifests/{code}/conversions",
    // `svc check --online` (test/service/check-online.test.ts).
    "GET /app/hook/deliveries",
    "GET /repos/{owner}/{repo}/rules/branches/{branch}",
  ],
  GitLab: [
    // `svc revert` (test/scenarios/revert.test.ts, test/contract).
    "POST /projects/{id}/repository/branches",
    "POST /projects/{id}/repository/commits/{sha}/revert",
    "GET /projects/{id}/merge_requests/{merge_request_iid}/commits",
    "POST /projects/{id}/merge_requests",
    // Another `merge_method` than `squash` (test/scenarios/auto-merge-host.test.ts).
    "PUT /projects/{id}/merge_requests/{merge_request_iid}",
    // Merge trains (test/scenarios/auto-merge-train.test.ts).
    "POST /projects/{id}/merge_trains/merge_requests/{merge_request_iid}",
    "POST /projects/{id}/merge_requests/{merge_request_iid}/cancel_merge_when_pipeline_succeeds",
    // The trial, and `svc update`.
    "GET /projects",
    "PUT /projects/{id}/merge_requests/{merge_request_iid}/rebase",
    "POST /oauth/token",
    "GET /groups",
    ...["/projects/{id}/hooks", "/groups/{id}/hooks"].flatMap((at) => [
      `GET ${at}`,
      `POST ${at}`,
      `PUT ${at}/{hook_id}`,
    ]),
    // After a crash, or where GitLab refuses a mark that is set already (test/contract).
    "GET /projects/{id}/deployments",
    "GET /projects/{id}/deployments/{deployment_id}",
    "GET /projects/{id}/merge_requests/{merge_request_iid}/notes/{note_id}/award_emoji",
  ],
};

const POLICY = 'sync_requirements:\n  - { name: "*", require_approval: true, allowed_teams: [acme/ops] }\n';

// The hosts by title: these always run on both.
describe.each([
  ["GitHub", "hosta"],
  ["GitLab", "hostb"],
] as const)("the table of calls to %s", (title, host) => {
  test("has each request of a conversation with every command, and no row that nobody needs, with the permissions of app.yml", async () => {
    const bot = await startBot({
      host,
      git: true,
      gitlab: { edition: "premium" },
      files: () => ({ ".svc.yaml": POLICY }),
      config: {
        [host]: { [host === "hosta" ? "deployments" : "environments"]: true, commit_status: true },
        deployer: { ui_url: "https://argocd.example.com" },
        defaults: { auto_merge: true, delete_source_branch: true },
      },
      prepare: (_world, forge) => {
        // Strangers may read what is public without any permission.
        forge.setVisibility(REPOSITORY, "private");
        forge.requireReviews(REPOSITORY, 1);
        forge.setTeam("acme/ops", ["ana", "bo"]);
      },
    });
    const one = await bot.open(changeOf(["web", "api"]));
    await bot.push(one, changeOf(["web", "api"], "3"));
    bot.forge.runPipeline(REPOSITORY, one);
    await bot.comment(one, "svc sync");
    await bot.forge.pushToBranch(REPOSITORY, "main", { "README.md": "new\n" });
    await bot.approve(one);
    bot.expectChanges("sync web", "sync api");
    await bot.comment(one, "svc sync -a web");
    await bot.comment(one, "svc rollback");
    await bot.comment(one, "svc unlock -a api");
    await bot.service.reconcile();
    await bot.rename("acme/live");
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
    await bot.service.reconcile();
    const { undescribed, unmade } = compareCalls(bot.forge);
    expect(undescribed).toEqual([]);
    expect(unmade.filter((request) => ELSEWHERE[title]?.includes(request) !== true)).toEqual([]);
  });
});

/** The most calls that each act may cost; one more edit for each change that is shown elsewhere. */
const MOST = { open: 19, push: 14, plan: 13, sync: 16 } as const;

test("on GitHub, opening, pushing, planning and syncing cost no more calls than they did", async () => {
  const bot = await startBot({ host: "hosta", config: { hosta: { commit_status: true } } });
  const cost = async (act: () => Promise<unknown>) => {
    const from = bot.forge.requests.length;
    await act();
    return bot.forge.requests.slice(from).map(({ method, path }) => `${method} ${path}`);
  };
  let one = 0;
  const calls = {
    open: await cost(async () => {
      one = await bot.open(changeOf(["web", "api"]));
    }),
    push: await cost(() => bot.push(one, changeOf(["web", "api"], "3"))),
    plan: await cost(() => bot.comment(one, "svc plan")),
    sync: await cost(() => {
      bot.expectChanges("sync web", "sync api");
      return bot.comment(one, "svc sync");
    }),
  };
  const beyond = Object.entries(MOST).filter(([act, most]) => calls[act as keyof typeof MOST].length > most + 1);
  expect(beyond.map(([act]) => [act, calls[act as keyof typeof MOST]])).toEqual([]);
});
