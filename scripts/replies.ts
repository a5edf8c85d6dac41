import { readFileSync } from "node:fs";

const GOLDEN = new URL("../test/comments/golden/", import.meta.url);

/** When each reply comes, by the name of its golden comment. docs/commands.md shows them in this order. */
export const REPLIES: Readonly<Record<string, string>> = {
  "plan-changed": "A plan whose application changes",
  "plan-of-24-applications": "A plan of many applications, most of which change in the same way",
  "plan-of-24-alike": "A plan of many applications, all of which change in the same way",
  "plan-dangers": "A plan whose sync is dangerous",
  "plan-needing-approval": "A plan whose sync needs an approval",
  "plan-blocked-by-another": "A plan whose only application another pull request has locked",
  "plan-stages": "A plan that a sync deploys in stages",
  "plan-unchanged": "A plan without changes",
  "plan-only-commit": "A plan in which nothing changes but the commit id",
  "plan-no-applications": "A plan of a commit that affects no application",
  "plan-deletes-and-hooks": "Resources are removed, or hooks of Argo CD change",
  "plan-cautions-and-children": "A change is dangerous, or changes other Applications and ApplicationSets",
  "plan-sets-and-lists":
    "ApplicationSets change; some applications are left out by -a, not deployed, or not affected any longer",
  "plan-new-and-deleted": "Application resources are added or removed",
  "plan-set-of-a-parent": "A parent applies an ApplicationSet that changes: it takes effect at the sync of the parent",
  "plan-previews": "ApplicationSets and parents add, change or remove applications at the merge",
  "plan-asking-kubernetes": "The plan is posted, and Kubernetes is still being asked about it",
  "plan-auto-synced-and-warned": "An application has auto-sync, or there is something to know about it",
  "plan-locked-by-another": "Another pull request holds the lock, or the lock was released since the plan",
  "plan-your-turn": "A lock that the pull request waited for was released",
  turn: "The same, where svc does not plan by itself: a fork, or commits that nobody had planned",
  "plan-hidden-secrets": "Argo CD hides the values of a Secret that may change",
  "plan-could-not-be-evaluated": "Argo CD cannot render a side",
  "plan-failed-checks": "A check of the server's file fails",
  "plan-refused-by-kubernetes": "Kubernetes will refuse a change, or could not be asked",
  "plan-left-as-is": "A sync leaves something that changes as it is",
  "plan-live": "A plan with argocd.diff_mode: live",
  "plan-live-failed": "The same, and the live cluster cannot be read",
  "plan-both": "A plan with argocd.diff_mode: both",
  "plan-with-page": "svc's pages show the plan as well",
  "plan-living":
    "A plan's comment is edited while its commit lives: approved, one application deployed, another failed",
  "plan-merged": "The same once the pull request is merged",
  "plan-base-moved": "The target branch moves and changes what a planned application reads",
  "plan-outdated": "A newer plan replaces it",
  "progress-sync": "A sync or rollback takes longer than five seconds",
  "result-sync": "A sync succeeds, and the pull request is merged",
  "result-sync-no-auto-merge": "A sync succeeds, and auto-merge is off",
  "result-sync-not-pruned-and-merging":
    "A sync succeeds, leaves a resource in the cluster, and the pull request is merged",
  "result-sync-failed": "A sync fails",
  "result-sync-not-healthy": "A sync leaves applications unhealthy that have to get healthy; some are rolled back",
  "result-sync-merged-meanwhile": "Somebody merges the pull request while its sync runs",
  "result-sync-dry-run": "A dry run succeeds",
  "result-sync-mixed": "A sync ends in different ways, leaves resources in the cluster, or does not merge",
  "result-interrupted": "An interrupted command's syncs ended meanwhile",
  "result-merge-refused": "The host refuses to merge",
  "result-merge-barred": "What changed while a sync ran bars its merge",
  "result-rollback": "A rollback succeeds",
  "result-rollback-failed": "A rollback fails",
  "result-lock-taken-over":
    "A rollback takes the lock of a pull request that has only planned the application; told there",
  "lock-released": "An administrator releases locks; told where they were held",
  "result-unlock": "Locks are released",
  "result-unlock-with-next": "Others wait for the released locks, and this one waited for another",
  "result-unlock-nothing": "There is nothing to release",
  "result-update": "svc update, on GitHub",
  "result-update-rebased": "The same on GitLab, which rebases",
  "result-update-nothing": "The branch is not behind",
  "result-revert": "svc revert on a merged pull request",
  "result-revert-again": "There is a revert already",
  "result-hold": "svc hold",
  "result-release": "svc release",
  reminder: "A pull request is deployed and not merged for a day (comments.remind_after)",
  "plan-after-merge": "The plan after the merge, while what takes effect then is followed",
  "rollout-failed": "Something of that has failed, without the approval that its rules require",
  "result-closed": "A pull request is closed while its commit is deployed",
  "result-help": "The commands are asked for with svc help",
  "refusal-not-a-command": "The comment is no command, and nearly none",
  "refusal-not-a-command-but-nearly": "The comment is nearly a command",
  "refusal-no-match": "A pattern of -a matches nothing",
  "refusal-nothing-locked": "Nothing is planned yet, or everything was synced or unlocked",
  "refusal-not-a-command-but-for-an-option": "The command has no such option",
  "refusal-not-locked-but-nearly": "-a names nearly an application that it holds",
  "refusal-not-locked": "-a names an application that this pull request does not hold",
  "refusal-unknown-applications": "-a names an application that this pull request does not affect",
  "refusal-not-approved": "An approval is required and missing",
  "refusal-stale": "The plan is not of the head commit, could not be made, or would not be what is deployed",
  "refusal-conflicts": "The branch does not merge",
  "refusal-mergeability-unknown": "The host is still computing whether it merges",
  "refusal-auto-sync": "The application has auto-sync",
  "refusal-not-deployable": "svc cannot deploy the application, for the reason given",
  "refusal-locked-by-other": "Another pull request deployed the applications as well, or this one never did",
  "refusal-cannot-tell": "What has to be known first cannot be read",
  "refusal-head-moved": "Commits are pushed during the checks",
  "refusal-retargeted": "The base branch changes during the checks",
  "refusal-plan-unseen": "The command is older than the plan of the head commit",
  "refusal-found-late": "The command's webhook was lost",
  "refusal-unread-files": "Changed files that may hold an Application cannot be read",
  "refusal-store-unavailable": "The store does not answer",
  "refusal-closed": "The pull request is closed or merged",
  "refusal-fork": "The pull request comes from a fork",
  "refusal-not-done": "The branch cannot be updated",
  "refusal-not-done-revert": "There is nothing to revert",
  "refusal-not-done-revert-conflicts": "A revert does not apply cleanly",
  "refusal-not-done-hold": "What is asked for cannot be held",
  "refusal-not-done-release": "There is nothing to release",
  "refusal-no-write-access": "The person has no write access",
  "refusal-not-allowed": "allowed_users or allowed_teams name others",
  "refusal-not-allowed-to-unlock": "The same for another command",
  "refusal-not-allowed-by-several-lists": "The same by several rules, or by an empty list",
  "refusal-repository-file": "The repository's file is broken",
  "refusal-superseded": "Commits are pushed while a plan runs, and are not planned by themselves",
  "refusal-superseded-by-close": "The pull request is closed while a plan runs",
  "refusal-failure": "Another system is unavailable, or refuses",
};

const MOST_LINES = 100;

/** Every reply with when it comes, each folded. */
export function replyList(): string {
  return Object.entries(REPLIES)
    .map(([name, when]) => `<details><summary>${when}</summary>\n\n${sampleOf(name, MOST_LINES)}\n\n</details>\n`)
    .join("\n");
}

/** A golden comment as a quote, without its hidden lines. */
export function sampleOf(name: string, mostLines = Infinity): string {
  const golden = readFileSync(new URL(`${name}.md`, GOLDEN), "utf8").trimEnd();
  const lines = golden.split("\n").filter((line) => !line.startsWith("<!-- "));
  const more = lines.length - mostLines;
  const first = lines.slice(0, mostLines);
  const shown = more > 1 ? [...first, ...closing(first), "", `… and ${more} more lines`] : lines;
  return shown.map((line) => `> ${line}`.trimEnd()).join("\n");
}

/** What closes the code and the folded parts that are open after these lines. */
function closing(lines: readonly string[]): readonly string[] {
  const count = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;
  const fence = count(/^```/) % 2 === 1 ? ["```"] : [];
  const folded = Math.max(0, count(/^<details/) - count(/^<\/details>/));
  return [...fence, ...Array.from({ length: folded }, () => ["", "</details>"]).flat()];
}
