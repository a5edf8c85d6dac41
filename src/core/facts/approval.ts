import { REPOSITORY_FILE } from "../../names.js";
import { projectOf } from "../model/application.js";
import { revision } from "../model/brand.js";
import {
  type Approval,
  type Approver,
  type Authorship,
  type ChangeRequest,
  changeRequestRef,
  type Push,
  type Reviews,
  type User,
} from "../model/change-request.js";
import { HostFailure, RepositoryFailure, only } from "../model/errors.js";
import type { AllHostWords } from "../model/host-words.js";
import type { AccessRule, Settings } from "../model/settings.js";
import type { LiveSubject } from "../model/subject.js";
import type { Deployed } from "../policy/effect-rules.js";
import {
  type EyesFacts,
  type Involved,
  peopleIn,
  type UnseenCommit,
  unseenCommits,
} from "../policy/independent-eyes.js";
import type { CodeHost } from "../ports/code-host.js";
import type { CommandPorts, OpenedChange } from "../ports/context.js";
import type { Snapshot } from "../ports/snapshot.js";
import { projectObstacle } from "../survey/driving-right.js";
import { directMember } from "../survey/members.js";
import { newReadsOf } from "../survey/previews.js";
import { type AccessContext, allowsAny, barredFrom } from "./access.js";

export interface ApprovalContext {
  readonly host: Pick<CodeHost, "reviews" | "authorship" | "self" | "getChangeRequest">;
  readonly change: ChangeRequest;
  readonly settings: Pick<Settings, "approvalFromCommitters" | "needsAdministrator">;
  readonly snapshot: Pick<Snapshot, "commitsBetween" | "isCleanMerge">;
  readonly hostWords: AllHostWords;
  readonly isAdministrator: CommandPorts["isAdministrator"];
}

/** Merges that git repeats to find out whether they are clean; any further one counts as its author's commit. */
const MOST_MERGES = 10;

/** Reads whether the head is approved, once for everybody who asks. */
export type Approvals = () => Promise<Approval>;

export function createApprovals(context: ApprovalContext): Approvals {
  let reading: Promise<Approval> | undefined;
  return () => (reading ??= approvalOf(context));
}

/**
 * Whether the head commit is approved, read afresh: by the host's rules, and by independent eyes. Commits are read only if
 * the host's rules are met. Where no readable rules say who may approve, only administrators of the pages may.
 */
async function approvalOf(context: ApprovalContext): Promise<Approval> {
  const { host, change, settings, hostWords, isAdministrator } = context;
  const given = await host.reviews(change);
  const { queued } = given;
  const approval = { ...(await independentApproval(given, context)), ...(queued && { queued }) };
  if (!approval.approved || !settings.needsAdministrator) return approval;
  const administrators = await Promise.all(approval.people.map((person) => isAdministrator(change.host, person)));
  if (administrators.includes(true)) return approval;
  return { ...approval, approved: false, missing: administratorNeeded(hostWords[change.host].title) };
}

function administratorNeeded(host: string): string {
  return `${REPOSITORY_FILE} is broken, and none of its versions in the last 200 commits can be read, so nobody knows its rules: an administrator of svc's pages, who is logged in there with ${host}, has to approve the head commit.`;
}

async function independentApproval(given: Reviews, context: ApprovalContext): Promise<Approval> {
  const { host, change, settings, snapshot } = context;
  if (!given.approved) return given;
  const { id: self } = await host.self();
  const isOurs = change.author?.id === self;
  if (settings.approvalFromCommitters && !isOurs) return given;
  const [range, authorship] = await Promise.all([
    snapshot.commitsBetween(change.mergeBase, change.headRevision),
    host.authorship(change),
  ]);
  const answerable = await answerableFor(change, authorship, host);
  const reviews = withoutThoseOf(answerable.people, given);
  if (!reviews.looks.some(({ saw }) => saw === change.headRevision)) return refuseAnswerable(given, change);
  if (!range.complete) return judgeUnknown(reviews, change);
  const facts: EyesFacts = {
    head: change.headRevision,
    commits: range.commits,
    empty: new Set(),
    looks: reviews.looks,
    authorship: answerable.retargeted ? { ...authorship, opened: undefined } : authorship,
    self,
    updates: new Set(),
    untoldAuthors: answerable.incomplete,
  };
  if (unseenCommits(facts).length === 0) return approvedBy(facts);
  const judged = {
    ...facts,
    empty: await baseMerges(facts, snapshot),
    updates: await plainUpdates(facts, context),
  };
  const unseen = unseenCommits(judged);
  return unseen.length === 0 ? approvedBy(judged) : refuse(unseen, context);
}

function approvedBy(facts: EyesFacts): Approval {
  const people = countingApprovers(facts);
  return { approved: true, approvers: people.map(({ login }) => login), people, missing: undefined };
}

/** Who answers for all of a change request that svc opened. */
interface Answerable {
  /** Ids. */
  readonly people: ReadonlySet<string>;
  /** There may be others. */
  readonly incomplete: boolean;
  /** Its base is not the branch that the reverted change was merged into. It may then bring commits that nobody answers for. */
  readonly retargeted?: boolean;
}

/** Reverts of reverts that are followed. */
const MOST_REVERTS = 5;

/** Whoever asked for a revert, or had a hand in what it reverts: they count as its authors, so that no approval of theirs counts. */
async function answerableFor(
  change: ChangeRequest,
  { reverts }: Pick<Authorship, "reverts">,
  host: ApprovalContext["host"],
  depth = 0,
): Promise<Answerable> {
  if (reverts === undefined) return { people: new Set(), incomplete: false };
  if (reverts === "unknown" || depth === MOST_REVERTS) return { people: new Set(), incomplete: true };
  const reverted = await host.getChangeRequest({ ...changeRequestRef(change), number: reverts.of });
  const authorship = await host.authorship(reverted);
  const earlier = await answerableFor(reverted, authorship, host, depth + 1);
  const authors = [...authorship.accounts.values()].flatMap(({ people }) => people);
  const involved = [reverted.author, ...authors, ...authorship.pushes.map(({ by }) => by)];
  const ids = involved.flatMap((person) => person?.id ?? []);
  return {
    people: new Set([reverts.askedBy, ...ids, ...earlier.people]),
    incomplete: reverted.author === undefined || earlier.incomplete,
    retargeted: reverted.baseBranch !== change.baseBranch,
  };
}

function withoutThoseOf(ids: ReadonlySet<string>, reviews: Reviews): Reviews {
  const people = reviews.people.filter(({ id }) => !ids.has(id));
  const looks = reviews.looks.filter(({ by }) => !ids.has(by.id));
  return { ...reviews, looks, people, approvers: people.map(({ login }) => login) };
}

function refuseAnswerable({ approvers, people }: Reviews, { author }: ChangeRequest): Approval {
  const names = approvers.join(", ");
  const missing = `The approval by ${names} does not count: who asked for a revert, or had a hand in what it reverts, counts as its author. ${cure([author, ...people])}`;
  return { approved: false, approvers: [], people: [], missing };
}

/** Merges of the base branch without changes of their own: git produces the same result. */
async function baseMerges(
  { commits }: EyesFacts,
  snapshot: Pick<Snapshot, "isCleanMerge">,
): Promise<ReadonlySet<string>> {
  const own = new Set<string>(commits.map(({ id }) => id));
  const merges = commits.filter(({ parents }) => parents.length === 2 && parents.some((parent) => !own.has(parent)));
  const clean = new Set<string>();
  for (const { id } of merges.slice(0, MOST_MERGES)) if (await snapshot.isCleanMerge(id)) clean.add(id);
  return clean;
}

/** Those pushes by svc that add nothing of their own: the new head has the tree that git makes of the old head and a commit of the base branch. */
async function plainUpdates(
  { commits, authorship, self }: EyesFacts,
  { change, snapshot }: ApprovalContext,
): Promise<ReadonlySet<Push>> {
  const own = new Set<string>(commits.map(({ id }) => id));
  const ours = authorship.pushes.filter(({ by, before = "" }) => by?.id === self && !own.has(before));
  const plain = new Set<Push>();
  for (const push of ours.slice(0, MOST_MERGES)) if (await isPlain(push)) plain.add(push);
  return plain;

  async function isPlain({ before, after }: Push): Promise<boolean> {
    if (before === undefined || after === undefined || after === "deleted") return false;
    try {
      const range = await snapshot.commitsBetween(change.mergeBase, revision(after));
      const added = new Set<string>(range.commits.map(({ id }) => id));
      const parents = range.commits.flatMap((commit) => commit.parents).filter((parent) => !added.has(parent));
      const [onto, other] = new Set(parents);
      if (!range.complete || onto === undefined || other !== undefined) return false;
      return await snapshot.isCleanMerge(revision(after), [revision(before), onto]);
    } catch (error) {
      // The host may have deleted the old head, which no branch contains any more.
      if (error instanceof RepositoryFailure) return false;
      throw error;
    }
  }
}

/** Judges a head whose commits are not all known: two approvers are enough, since neither wrote everything alone. */
function judgeUnknown(reviews: Reviews, change: ChangeRequest): Approval {
  if (peopleIn(reviews.looks.filter(({ saw }) => saw === change.headRevision)) >= 2) return reviews;
  return {
    approved: false,
    approvers: [],
    people: [],
    missing: `${reviews.approvers.join(", ")} approved, but which commits are theirs cannot be told: there are more than 200, or the history cannot be read. A second person with write access has to approve the head commit, or the commits have to be squashed.`,
  };
}

function refuse(unseen: readonly UnseenCommit[], { change, hostWords }: ApprovalContext): Approval {
  const { title } = hostWords[change.host];
  const first = new Map<string, { readonly commit: string; readonly involved: Involved }>();
  for (const { id, because } of unseen.toReversed()) {
    for (const involved of because) if (!first.has(involved.by.id)) first.set(involved.by.id, { commit: id, involved });
  }
  const reasons = [...first.values()].map(({ commit, involved }) => reasonOf(commit, involved, title));
  const excluded = [change.author, ...[...first.values()].map(({ involved }) => involved.by)];
  const missing = `${reasons.join(" ")} ${cure(excluded)}`;
  return { approved: false, approvers: [], people: [], missing };
}

function reasonOf(commit: string, { by: { login }, how }: Involved, title: string): string {
  const name = commit.slice(0, 8);
  switch (how) {
    case "wrote":
      return `The approval by ${login} does not count: ${login} is an author or the committer of ${name}, and nobody else who saw that commit approved it.`;
    case "pushed":
      return `The approval by ${login} does not count: ${login} pushed to this branch what became ${name}, or may have, and nobody else who saw that commit approved it.`;
    case "unknown-author":
      return `The approval by ${login} does not count: ${title} knows no account for an author or the committer of ${name}, and ${login} pushed to this branch.`;
    case "unknown-asker":
      return `The approval by ${login} is not enough: nobody can tell any more who asked for this revert, so it may have been ${login}. A second person has to approve as well.`;
    case "unknown-pusher":
      return `The approval by ${login} is not enough: ${title} does not tell who pushed ${name}, so it may have been ${login}.`;
  }
}

function cure(excluded: readonly (User | undefined)[]): string {
  const people = excluded.filter((user) => user !== undefined && !user.bot).map((user) => user?.login ?? "");
  const names = [...new Set(people)];
  return `Somebody else with write access (not ${names.join(", ")}) has to approve the head commit.`;
}

/** Why the head's approval does not lift what is withheld of these applications; undefined if it does. */
export type WhyWithheld = (deployed: readonly Deployed[]) => Promise<string | undefined>;

/** Decides whether somebody who may deploy the applications has approved the head; asks the host once, and only if it has to. */
export function createLifting(
  context: ApprovalContext & Omit<AccessContext, "user">,
  approvals: Approvals = createApprovals(context),
): WhyWithheld {
  return async (deployed) => {
    const approval = await approvals().catch(only(HostFailure, ({ message }) => message));
    if (typeof approval === "string") return `the approvals could not be read: ${approval}`;
    if (!approval.approved) return approval.missing ?? "The head commit is not approved.";
    const admitted = await Promise.all(
      approval.people.map(async (user) => (await barredFrom("sync", deployed, { ...context, user })).length === 0),
    );
    if (admitted.includes(true)) return undefined;
    return `${approval.approvers.join(", ")} approved the head commit, but allowed_users and allowed_teams do not name them for ${deployed.map(({ application }) => application).join(", ")}.`;
  };
}

/** Why an application is not rendered yet; undefined if it may be. */
export async function withholdingOf(
  subject: LiveSubject,
  why: WhyWithheld,
  commits: OpenedChange,
): Promise<string | undefined> {
  const { head, live } = subject;
  const moved =
    projectOf(head.spec) === projectOf(live.spec) ? undefined : projectObstacle(projectOf(head.spec), commits);
  if (moved !== undefined) return moved;
  const reads = await newReadsOf(subject, commits);
  if (reads.length === 0) return undefined;
  const missing = await why([{ application: subject.name, members: [directMember(subject, commits.change)] }]);
  if (missing === undefined) return undefined;
  return (
    "it is not rendered before somebody who may deploy it has approved this commit: " +
    `its definition uses ${reads.join(", ")}, and the live Application does not. ${missing}`
  );
}

type RulesContext = Pick<ApprovalContext, "change"> & {
  readonly host: CodeHost;
  readonly settings: Pick<Settings, "rulesChange">;
  readonly approvals: Approvals;
};

/** What the approval of a head that changes the repository's rules lacks: somebody whom the old rules allow has to agree to the new ones. */
export async function missingForRules(context: RulesContext): Promise<string | undefined> {
  const { lists } = context.settings.rulesChange ?? {};
  if (lists === undefined) return undefined;
  const approval = await context.approvals();
  if (!approval.approved) return `it changes the rules and needs an approval${byWhom(lists)}`;
  const allowed = await Promise.all(lists.map((list) => allowsAny(list, approval.people, context)));
  const missing = lists.filter((_, index) => allowed[index] !== true);
  return missing.length === 0 ? undefined : `it changes the rules and needs an approval${byWhom(missing)}`;
}

function byWhom(lists: readonly AccessRule[]): string {
  const people = lists.map(({ users, teams }) => {
    const names = [...users, ...teams.map((team) => `a member of ${team}`)];
    return names.length === 0 ? "nobody (a list is empty): merge it by hand" : names.join(" or ");
  });
  return people.length === 0 ? "" : ` by ${people.join(", and by ")}`;
}

/** People who approved the head and had no hand in any commit; everybody who did, if each of them had in some. */
export function countingApprovers(facts: EyesFacts): readonly Approver[] {
  const { head, looks, authorship } = facts;
  const atHead = looks.filter(({ saw }) => saw === head).map(({ by }) => by);
  const uninvolved = atHead.filter((by) => {
    const alone = {
      ...facts,
      looks: [{ by, saw: head, from: undefined }],
      authorship: { ...authorship, opened: head },
    };
    return unseenCommits(alone).length === 0;
  });
  return uninvolved.length > 0 ? uninvolved : atHead;
}
