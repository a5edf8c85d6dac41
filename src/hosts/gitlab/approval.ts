import { MergeRequestApprovals, MergeRequests } from "@gitbeaker/rest";
import * as z from "zod";
import type { Approver, ChangeRequest, ChangeRequestRef, Look, Reviews } from "../../core/model/change-request.js";
import { HostFailure, only } from "../../core/model/errors.js";
import type { Clock } from "../../core/ports/clock.js";
import { idField, ifFound, loginField, oneLine, readUntil, revisionField } from "../host-answer.js";
import { type IsProgram, mayWrite } from "./access.js";
import { getMergeRequest, PENDING } from "./change-request.js";
import type { GitLabClient } from "./client.js";
import { notePages } from "./notes.js";
import { isBot } from "./webhook.js";

const userSchema = z.object({ id: idField, username: loginField });
const timeField = z.string().transform((text) => Date.parse(text));

/** On editions without approval rules, `approved` is always true and the counts are missing. */
const approvalsSchema = z.object({
  approved: z.boolean().nullish(),
  approvals_left: z.number().nullish(),
  approved_by: z.array(z.object({ user: userSchema, approved_at: timeField.nullish() })),
});
const versionsSchema = z.array(
  z.object({
    head_commit_sha: revisionField.nullish(),
    /** Where the head left the target branch of that time. */
    base_commit_sha: revisionField.nullish(),
    created_at: timeField,
  }),
);
const reviewersSchema = z.array(z.object({ user: userSchema, state: z.string().nullish() }));

type Approvals = z.output<typeof approvalsSchema>;

interface ApprovalFacts {
  readonly headRevision: string | null | undefined;
  readonly mergeStatus: string | null | undefined;
  /** Where GitLab reports no times, with the earliest that its notes allow for. */
  readonly approvals: Approvals;
  /** What its notes say, where it reports no times. */
  readonly noted: NotedApprovals | undefined;
  readonly versions: z.output<typeof versionsSchema>;
  readonly reviewers: z.output<typeof reviewersSchema>;
  /** Ids of the approvers who count: users other than the author who may write to the project now. */
  readonly entitled: ReadonlySet<string>;
  /** Names of the approvers who may no longer write to the project. */
  readonly lapsed: readonly string[];
  /** Names of the approvers of whom GitLab does not tell whether they are people. */
  readonly unclear: readonly string[];
  /** See `describeOpenRules`. */
  readonly openRules: string;
}

/** Each approver's role costs a request. */
const MOST_APPROVERS = 30;

interface ReviewParts {
  /** Id of our own account, whose approval never counts. */
  readonly self: string;
  readonly isProgram: IsProgram;
  readonly clock: Clock;
}

export async function getReviews(
  client: GitLabClient,
  change: ChangeRequest,
  { self, isProgram, clock }: ReviewParts,
): Promise<Reviews> {
  const { repository, number } = change;
  const merge = await readUntil(
    () => getMergeRequest(client, change),
    // After a push GitLab revokes approvals in the background; until then it still shows the old ones.
    (read) => !PENDING.includes(read.detailed_merge_status ?? ""),
    clock,
  );
  const asked = `read the approvals of ${repository}!${number}`;
  const approvals = await readUntil(
    () =>
      client.read(approvalsSchema, asked, (gitlab) =>
        new MergeRequestApprovals(gitlab).showConfiguration(repository, { mergerequestIId: number }),
      ),
    // For 15 seconds after a push, `approved` can be false although no rule is open.
    (read) => read.approved === true || read.approvals_left !== 0 || read.approved_by.length === 0,
    clock,
  );
  const versions = await client.read(versionsSchema, asked, (gitlab) =>
    new MergeRequests(gitlab).allDiffVersions(repository, number),
  );
  const given = approvals.approved_by
    .map(({ user: { id, username } }) => ({ id, login: username }))
    .filter(({ id, login }) => id !== change.author?.id && id !== self && !isBot(login))
    .slice(0, MOST_APPROVERS);
  const unclear: string[] = [];
  const lapsed: string[] = [];
  const entitled = new Set<string>();
  for (const person of given) {
    const program = await isProgram(person).catch(only(HostFailure, () => undefined));
    // An approval stays when the approver leaves the project.
    if (program === undefined) unclear.push(person.login);
    else if (program) continue;
    else if (await mayWrite(client, change, person)) entitled.add(person.id);
    else lapsed.push(person.login);
  }
  const met = approvals.approved === true && (approvals.approvals_left ?? 0) === 0;
  const judged = judgeApprovals(change, {
    headRevision: merge.sha,
    mergeStatus: merge.detailed_merge_status,
    ...(await timeApprovals(client, change, approvals, entitled)),
    versions,
    reviewers: await getReviewers(client, change),
    entitled,
    lapsed,
    unclear,
    openRules: met ? "" : await describeOpenRules(client, change),
  });
  return { ...judged, ...(merge.merge_when_pipeline_succeeds === true && { queued: true as const }) };
}

/** Takes times that GitLab does not report from its notes: the approval came before its note, by an unknown delay. */
async function timeApprovals(
  client: GitLabClient,
  change: ChangeRequestRef,
  approvals: Approvals,
  entitled: ReadonlySet<string>,
): Promise<Pick<ApprovalFacts, "approvals" | "noted">> {
  const isUntimed = ({ user, approved_at: at }: Approvals["approved_by"][number]) =>
    entitled.has(user.id) && typeof at !== "number";
  const untimed = new Set(approvals.approved_by.filter(isUntimed).map(({ user }) => user.id));
  if (untimed.size === 0) return { approvals, noted: undefined };
  const noted = await readNotedApprovals(client, change, untimed);
  const approved_by = approvals.approved_by.map((one) => {
    const at = noted.times.get(one.user.id);
    return at === undefined ? one : { ...one, approved_at: at - MOST_NOTE_DELAY_MS };
  });
  return { approvals: { ...approvals, approved_by }, noted };
}

/** `detailed_merge_status` names one reason at a time, so requests for changes are read from the reviewers as well. */
async function getReviewers(client: GitLabClient, change: ChangeRequest): Promise<ApprovalFacts["reviewers"]> {
  const asked = `read the reviewers of ${change.repository}!${change.number}`;
  const reviewers = client.read(reviewersSchema, asked, (gitlab) =>
    new MergeRequests(gitlab).showReviewers(change.repository, change.number),
  );
  return (await ifFound(reviewers)) ?? [];
}

/** GitLab names no approved commit: an approval counts if it is newer than the newest diff, or, without a time, if that is the only one. */
function judgeApprovals(change: ChangeRequest, facts: ApprovalFacts): Reviews {
  const { approvals, versions, reviewers, entitled } = facts;
  const newest = newestOf(versions);
  const people = approvals.approved_by.filter(({ user }) => entitled.has(user.id));
  const fresh = people.filter(({ approved_at: at }) => {
    if (newest === undefined) return false;
    return typeof at === "number" ? at > newest.created_at : versions.length === 1;
  });
  const looks = people.map((one) => ({ ...lookOf(one, versions), isFresh: fresh.includes(one) }));
  // A new version of the same head has another target branch.
  const underOtherBase = looks.filter(({ saw, isFresh }) => !isFresh && saw === change.headRevision);
  const given = {
    approvers: names(fresh),
    people: fresh.map(approverOf),
    looks: looks.flatMap(({ by, saw, from, isFresh }): readonly Look[] => {
      if (isFresh) return [{ by, saw, from: undefined }];
      return from === undefined || saw === change.headRevision ? [] : [{ by, saw, from }];
    }),
  };
  const refuse = (missing: string): Reviews => ({ approved: false, ...given, missing });

  if (facts.headRevision !== change.headRevision || newest?.head_commit_sha !== change.headRevision) {
    return refuse("The head commit changed while the approvals were read, or GitLab is still preparing it.");
  }
  if (PENDING.includes(facts.mergeStatus ?? "")) {
    return refuse("GitLab is still computing the merge request's approvals; try again in a moment.");
  }
  const objectors = reviewers.filter(({ state }) => state === "requested_changes");
  if (objectors.length > 0 || facts.mergeStatus === "requested_changes") {
    return refuse(`${names(objectors).join(", ") || "A reviewer"} requested changes.`);
  }
  const vague = people.length > 0 && fresh.length === 0 ? whyVague(people, facts.noted, newest) : undefined;
  if (vague !== undefined) return refuse(vague);
  if (underOtherBase.length > 0 && fresh.length === 0) {
    const who = underOtherBase.map(({ by }) => by.login).join(", ");
    return refuse(`${who} approved before the base changed to ${oneLine(change.baseBranch, 100)}: approve again.`);
  }
  if (people.length > 0 && fresh.length === 0) {
    return refuse(`${names(people).join(", ")} approved before the newest commits came: approve again.`);
  }
  const met = approvals.approved === true && (approvals.approvals_left ?? 0) === 0;
  if (met && fresh.length > 0) return { approved: true, ...given, missing: undefined };
  const rules = `GitLab's approval rules are not all met yet${facts.openRules}.`;
  return refuse(fresh.length > 0 ? rules : whyNobodyCounts(facts, rules));
}

function whyNobodyCounts({ reviewers, lapsed, unclear, openRules }: ApprovalFacts, rules: string): string {
  const awaited = names(reviewers.filter(({ state }) => state === "unreviewed"));
  return [
    ...(lapsed.length + unclear.length === 0 ? ["Nobody other than the author approved."] : []),
    ...(lapsed.length === 0
      ? []
      : [`${lapsed.join(", ")} approved without the role Developer or above, which does not count.`]),
    ...(unclear.length === 0
      ? []
      : [
          `${unclear.join(", ")} approved, but GitLab does not tell whether that is a person or a program, so it does not count yet: try again in a moment.`,
        ]),
    ...(awaited.length === 0 ? [] : [`A review was asked of ${awaited.join(", ")}.`]),
    ...(openRules === "" ? [] : [rules]),
  ].join(" ");
}

function approverOf({ user, approved_at: at }: Approvals["approved_by"][number]): Approver {
  const time = typeof at === "number" && !Number.isNaN(at) ? new Date(at).toISOString() : undefined;
  return { id: user.id, login: user.username, bot: false, at: time };
}

type Versions = ApprovalFacts["versions"];

function newestOf(versions: Versions): Versions[number] | undefined {
  return versions.reduce<Versions[number] | undefined>(
    (best, version) => (best === undefined || version.created_at > best.created_at ? version : best),
    undefined,
  );
}

/** The version that an approver saw: the newest at that time. */
function lookOf(approval: Approvals["approved_by"][number], versions: Versions): Look {
  const { approved_at: at } = approval;
  const earlier = typeof at === "number" ? versions.filter(({ created_at: made }) => made < at) : versions;
  const seen = typeof at === "number" || versions.length === 1 ? newestOf(earlier) : undefined;
  return {
    by: approverOf(approval),
    saw: seen?.head_commit_sha ?? undefined,
    from: seen?.base_commit_sha ?? undefined,
  };
}

/** Why GitLab's notes do not tell that an approval is newer than the newest version; undefined if they tell what is older. */
function whyVague(
  people: Approvals["approved_by"],
  noted: NotedApprovals | undefined,
  newest: Versions[number],
): string | undefined {
  if (noted === undefined) return undefined;
  const old = "GitLab before 18.5 does not tell when an approval was given";
  const untimed = names(people.filter(({ approved_at: at }) => typeof at !== "number")).join(", ");
  if (untimed !== "") {
    return noted.cutOff
      ? `${old}, and the merge request has too many notes by GitLab to find that of ${untimed} in the newest ${MOST_NOTES}: open a new merge request, or update GitLab.`
      : `${old}, and no note by GitLab says that ${untimed} approved, or it was taken back since: take the approval back and give it again, or update GitLab.`;
  }
  const close = people.filter(({ user }) => (noted.times.get(user.id) ?? 0) > newest.created_at);
  if (close.length === 0) return undefined;
  const minutes = MOST_NOTE_DELAY_MS / 60_000;
  return `${old}, and notes it up to ${minutes} minutes late, so that of ${names(close).join(", ")} may be older than the newest commits or base: take the approval back and give it again ${minutes} minutes after them, or update GitLab.`;
}

function names(those: readonly { readonly user: { readonly username: string } }[]): readonly string[] {
  return those.map(({ user }) => user.username);
}

const peopleSchema = z.array(z.object({ username: loginField })).nullish();
const stateSchema = z.object({
  rules: z.array(
    z.object({
      name: z.string(),
      rule_type: z.string().nullish(),
      approvals_required: z.number(),
      approved: z.boolean().nullish(),
      approved_by: peopleSchema,
      eligible_approvers: peopleSchema,
    }),
  ),
});
type Rule = z.output<typeof stateSchema>["rules"][number];

const MOST_RULES = 5;
const MOST_NAMES = 10;

/** The open approval rules as the end of a sentence: `: "Deployments" needs 1 more approval (by bo, cy)`; empty if GitLab tells of none. */
async function describeOpenRules(client: GitLabClient, change: ChangeRequestRef): Promise<string> {
  const asked = `read the approval rules of ${change.repository}!${change.number}`;
  const asking = client.read(stateSchema, asked, (gitlab) =>
    new MergeRequestApprovals(gitlab).showApprovalState(change.repository, change.number),
  );
  const { rules } = await asking.catch(only(HostFailure, () => ({ rules: [] })));
  const open = rules.filter(({ approved }) => approved === false);
  const shown = open.slice(0, MOST_RULES).map(describeRule);
  const more = open.length > MOST_RULES ? [`${open.length - MOST_RULES} more rules are open`] : [];
  return open.length === 0 ? "" : `: ${[...shown, ...more].join("; ")}`;
}

function describeRule(rule: Rule): string {
  const given = new Set((rule.approved_by ?? []).map(({ username }) => username));
  const left = Math.max(1, rule.approvals_required - given.size);
  const who = (rule.eligible_approvers ?? []).map(({ username }) => username).filter((name) => !given.has(name));
  const named = who.slice(0, MOST_NAMES).join(", ");
  const by = named === "" ? "" : ` (by ${named}${who.length > MOST_NAMES ? " and others" : ""})`;
  const name = oneLine(rule.name, 60);
  const title = rule.rule_type === "code_owner" ? `the rule of the code owners of "${name}"` : `"${name}"`;
  return `${title} needs ${left} more approval${left === 1 ? "" : "s"}${by}`;
}

/** Anybody who may edit the merge request makes GitLab write notes. */
const MOST_NOTES = 1000;

/**
 * GitLab writes the note of an approval in the background, so that it may be newer than a push that followed the approval. Jobs of
 * this urgency wait for less than a minute: https://docs.gitlab.com/development/sidekiq/worker_attributes/#job-urgency
 */
const MOST_NOTE_DELAY_MS = 5 * 60_000;

const APPROVED = "approved this merge request";
const UNAPPROVED = "unapproved this merge request";

const noteSchema = z.object({
  body: z.string().nullish(),
  system: z.boolean().nullish(),
  imported: z.boolean().nullish(),
  author: z.object({ id: idField }).nullish(),
  created_at: z.string(),
});

interface NotedApprovals {
  /** The time since when each approval stands at the latest, by the approver's id, in milliseconds. */
  readonly times: ReadonlyMap<string, number>;
  /** There are more notes than are read. */
  readonly cutOff: boolean;
}

/** When these people approved, by GitLab's own notes: releases before 18.5 report no `approved_at`. */
async function readNotedApprovals(
  client: GitLabClient,
  change: ChangeRequestRef,
  approvers: ReadonlySet<string>,
): Promise<NotedApprovals> {
  const asked = `read when ${change.repository}!${change.number} was approved`;
  const order = { sort: "desc", orderBy: "created_at", activityFilter: "only_activity" } as const;
  const newest = { ...order, schema: noteSchema, most: MOST_NOTES };
  const times = new Map<string, number>();
  const open = new Set(approvers);
  for await (const { notes, more } of notePages(client, change, asked, newest)) {
    for (const { body, system, imported, author, created_at } of notes) {
      // People write notes with any text; only those that GitLab writes in their name tell what they did.
      if (system !== true || imported === true || author === null || author === undefined) continue;
      if (body !== APPROVED && body !== UNAPPROVED) continue;
      // The newest one counts: an approval that was taken back since has no time.
      if (open.delete(author.id) && body === APPROVED) times.set(author.id, Date.parse(created_at));
    }
    if (!more || open.size === 0) return { times, cutOff: false };
  }
  return { times, cutOff: true };
}
