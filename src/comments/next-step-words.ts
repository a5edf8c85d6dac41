import { nameable } from "../core/commands/parse-command.js";
import { type ApplicationName, type Revision, shortRevision } from "../core/model/brand.js";
import { type ChangeRequest, type ChangeRequestRef, identityKey } from "../core/model/change-request.js";
import { groupedBy } from "../core/model/collections.js";
import type { HoldOf } from "../core/model/hold.js";
import { counted, type HostWords, listed, referenceTo } from "../core/model/host-words.js";
import type { Lock } from "../core/model/lock.js";
import type { AdvisedCommand, AdvisedMerge, AfterApproval, NeededApproval, NextStep } from "../core/model/next-step.js";
import type { AccessRule } from "../core/model/settings.js";
import { fullMinuteText } from "../core/model/time.js";
import { REPOSITORY_FILE } from "../names.js";
import { capitalised, changeLink, code, headLink, joined, type Links, sentence, toCopy } from "./parts.js";

/** Part of a clause: our own words, untrusted words, untrusted code to type or copy, or a commit. */
export type Piece =
  | string
  | { readonly text: string; readonly about?: ChangeRequestRef }
  | { readonly code: string }
  | { readonly commit: Revision };

type Reader = Pick<ChangeRequest, "host" | "repository">;

/** What has to happen next, as a clause without a full stop. */
export function nextStepPieces(step: NextStep, change: Reader, words: HostWords): readonly Piece[] {
  switch (step.kind) {
    case "command":
      return [...commandClause(step, words), ...together(step.held ?? []).flatMap(restPieces)];
    case "mend":
      return mendPieces(step, change, words);
    case "later":
      return ["try again later, because svc cannot tell ", { text: step.because.replace(/\.$/, "") }];
    case "undone":
      return undonePieces(step, words);
    case "merge":
      return mergePieces(step, words);
    case "merging":
      // Read long after the merge, or after it failed, this is still true.
      return [
        `svc merges this ${words.short} into `,
        { code: step.into },
        " next, unless a comment below says otherwise",
      ];
    case "approve":
      return approvePieces(step, words);
    case "approve-rules":
      return [{ text: step.missing }];
    case "retry":
      return retryPieces(step, words);
    case "push":
      return pushPieces(step, words);
    case "checks":
      return checksPieces(step, words);
    case "wait":
      return ["wait for ", ...listedPieces(holdersOf(step.locks, change, words), "; ")];
    case "held":
      return listedPieces(together(step.holds).map(heldPieces), "; ");
    case "stage":
      return stagePieces(step, words);
    case "none":
      return nothingPieces(step.because, words);
  }
}

export function commandText(
  { command, applications }: Pick<AdvisedCommand, "command" | "applications">,
  words: Pick<HostWords, "command">,
): string {
  return [words.command, command, ...nameable(applications).map((name) => `-a ${name}`)].join(" ");
}

/** Says that the command has to be repeated for more applications, since one cannot name them all; empty if it names them. */
export function leftText(applications: readonly string[]): string {
  const left = applications.length - nameable(applications).length;
  return left === 0 ? "" : `then the same for ${counted(left, "more application")}`;
}

function leftPieces({ applications }: Pick<AdvisedCommand, "applications">): readonly Piece[] {
  const left = leftText(applications);
  return left === "" ? [] : [`, ${left}`];
}

function nothingPieces(
  because: Extract<NextStep, { kind: "none" }>["because"],
  { title, short, command }: HostWords,
): readonly Piece[] {
  switch (because) {
    case "queued":
      return [`nothing is left to do here: ${title} merges this ${short} when its turn has come`];
    case "merged":
      return ["nothing is left to do here; to undo the merge, comment ", { code: `${command} revert` }];
    case "closed":
      return [`nothing is left to do here; reopen this ${short} to go on with it`];
    case "fork":
      return [`nothing is planned or deployed here, because this ${short} comes from a fork`];
  }
}

function commandClause(advised: AdvisedCommand, words: HostWords): readonly Piece[] {
  return [
    advised.onApproval === "awaited" ? "approve the head commit, or comment " : "comment ",
    ...commandPieces(advised, words),
    ...lossPieces(advised, words),
  ];
}

/** What a sync deletes or leaves behind, and what it does that cannot be undone. */
function lossPieces(advised: AdvisedCommand, words: HostWords): readonly Piece[] {
  const { removes, knowing = [] } = advised;
  const known: readonly Piece[] =
    knowing.length === 0 ? [] : [", knowing that it ", { text: listed(knowing, MOST_LOSSES) }];
  if (removes === undefined) return known;
  const objects = counted(removes.count, "object");
  if (removes.pruning) return known.length > 0 ? known : [`, which deletes ${objects}`];
  const pruning = { code: `${commandText(advised, words)} --prune` };
  return [
    `, which leaves ${objects} in the cluster that this ${words.short} removes, or `,
    pruning,
    removes.count === 1 ? ", which deletes it" : ", which deletes them",
    ...known,
  ];
}

const MOST_LOSSES = 2;

function mendPieces(
  { applications, then }: Extract<NextStep, { kind: "mend" }>,
  change: Reader,
  words: HostWords,
): readonly Piece[] {
  const fix = ["fix what Kubernetes refuses in ", ...named(applications), " and push"];
  return [...fix, ", or go on knowing that its sync fails: ", ...nextStepPieces(then, change, words)];
}

function undonePieces({ by, again }: Extract<NextStep, { kind: "undone" }>, words: HostWords): readonly Piece[] {
  const left = by === "unlock" ? "the locks are released" : "the target branch runs again";
  return [
    `nothing is left to do: ${left}. To deploy this ${words.short} after all, `,
    ...commandClause(again, words),
    `; to drop it, close this ${words.short}`,
  ];
}

function commandPieces(advised: AdvisedCommand, words: HostWords): readonly Piece[] {
  return [{ code: commandText(advised, words) }, ...leftPieces(advised), ...byPieces(advised.by)];
}

function mergePieces({ draft, by }: AdvisedMerge, { short }: HostWords): readonly Piece[] {
  return [draft ? `mark this ${short} as ready, then merge it` : `merge this ${short}`, ...byPieces(by)];
}

function approvePieces({ known, commit, author, then }: NeededApproval, words: HostWords): readonly Piece[] {
  const by: readonly Piece[] = author === undefined ? [] : [" by somebody other than ", { text: author }];
  const starts = then.kind === "command" && then.onApproval !== undefined;
  if (known || starts || then.kind === "replan") {
    return ["needs an approval of ", { commit }, ...by, ...thenPieces(then, words)];
  }
  const what = then.kind === "merge" ? mergePieces(then, words) : commandClause(then, words);
  return [...what, ", which needs an approval of ", { commit }, ...by];
}

function thenPieces(then: AfterApproval, words: HostWords): readonly Piece[] {
  switch (then.kind) {
    case "command":
      if (then.onApproval !== undefined) return [", which deploys it", ...byPieces(then.by)];
      return [", then ", ...commandPieces(then, words), ...lossPieces(then, words)];
    case "merge":
      return [", then ", ...mergePieces(then, words)];
    case "replan":
      return [", which plans it again"];
  }
}

function retryPieces(
  { after, applications, then }: Extract<NextStep, { kind: "retry" }>,
  words: HostWords,
): readonly Piece[] {
  if (after === "unclear") {
    return ["look at ", ...named(applications), " in Argo CD, then ", ...commandPieces(then, words)];
  }
  const again = ["fix the cause, then ", ...commandPieces(then, words)];
  if (then.command === "rollback") return again;
  const back: AdvisedCommand = { ...then, command: "rollback", applications };
  return [...again, ", or ", { code: commandText(back, words) }, ...leftPieces(back)];
}

function byPieces(by: readonly AccessRule[]): readonly Piece[] {
  if (by.length === 0) return [];
  const lists = by.map(({ users, teams }) => [...users, ...teams.map((team) => `members of ${team}`)].join(", "));
  if (lists.includes("")) return [", which nobody may do: the list of who may is empty"];
  return [{ text: ` (only ${[...new Set(lists)].join(", and of those only ")})` }];
}

function pushPieces(
  { because, applications, baseBranch, command: update }: Extract<NextStep, { kind: "push" }>,
  { command }: HostWords,
): readonly Piece[] {
  const names = named(applications);
  switch (because) {
    case "conflicts":
      return ["resolve the merge conflicts and push"];
    case "behind":
      return [
        ...(update === undefined ? ["update the branch"] : ["comment ", { code: `${command} ${update}` }]),
        ", because ",
        { code: baseBranch },
        " changed what ",
        ...names,
        " is deployed from",
      ];
    case "uncovered":
      return ["have the annotation ", { code: "manifest-generate-paths" }, " of ", ...names, " cover the change"];
    case "unevaluated":
      return ["fix what keeps ", ...names, " from being evaluated, then push or comment ", { code: `${command} plan` }];
    case "missed":
      return [
        "fix what keeps ",
        ...names,
        " from being evaluated and push, or have somebody who may deploy it approve this commit after this plan",
      ];
    case "project":
      return ["take out what comes into that project and push, or ask an administrator of svc to list this repository"];
    case "unseen":
      return [
        "push a commit and have it approved, because what ",
        ...names,
        " deploys was planned only after the approval",
      ];
    case "unread":
      return ["split or simplify the files that could not be read, and push"];
    case "rules-broken":
      return ["fix ", { code: REPOSITORY_FILE }, " and push"];
  }
}

function checksPieces(
  { checks, applications, then, overridableBy, commit }: Extract<NextStep, { kind: "checks" }>,
  { command, short }: HostWords,
): readonly Piece[] {
  const what = listedPieces(checks.map((name) => [{ code: name }]));
  const fix = ["make ", ...what, " pass for ", ...named(applications), " and push"];
  if (overridableBy.length === 0) return fix;
  const by = { text: overridableBy.join(" or ") };
  const go: readonly Piece[] = then === "sync" ? ["comment ", { code: `${command} sync` }] : [`merge this ${short}`];
  return [...fix, ", or ", ...go, " once a member of ", by, " has approved ", { commit }];
}

/** Each change request that holds some of the locks, with these. */
function holdersOf(locks: readonly Lock[], change: Reader, words: HostWords): readonly (readonly Piece[])[] {
  const byHolder = groupedBy(locks, ({ holder, user }) => `${identityKey(holder)} ${user}`);
  return [...byHolder.values()].map((some): readonly Piece[] => {
    const [{ holder, user }] = some;
    const who = { text: `${referenceTo(holder, change, words)} (${user})`, about: holder };
    return [who, ", which has locked ", ...named(some.map(({ application }) => application))];
  });
}

type Alike = readonly [HoldOf, ...HoldOf[]];

/** What one hold says of several applications. */
function together(holds: readonly HoldOf[]): readonly Alike[] {
  return [...groupedBy(holds, ({ by, reason, until }) => JSON.stringify([by, reason, until])).values()];
}

function heldPieces(alike: Alike): readonly Piece[] {
  return endPieces(alike, [" of ", ...named(alike.map(({ application }) => application))]);
}

/** What a hold leaves for later, as the end of a sentence on what can be deployed now. */
function restPieces(alike: Alike): readonly Piece[] {
  return ["; for ", ...named(alike.map(({ application }) => application)), ", ", ...endPieces(alike, [])];
}

function endPieces([{ by, reason, until }]: Alike, of: readonly Piece[]): readonly Piece[] {
  const start = [`wait until ${fullMinuteText(new Date(until))}, when `, { text: `${by}'s` }, " hold"];
  return [...start, ...of, " (", { text: reason }, ") ends, or have it released"];
}

function stagePieces(step: Extract<NextStep, { kind: "stage" }>, words: HostWords): readonly Piece[] {
  const { at, by, because, unapproved } = step;
  const name = { code: step.stage };
  if (at === undefined) return because === undefined ? ["wait for stage ", name] : [{ text: because }];
  const time = fullMinuteText(new Date(at));
  const approval: readonly Piece[] =
    unapproved === undefined ? [] : [", which needs an approval of ", { commit: unapproved }];
  if (by !== undefined) return ["stage ", name, ` follows at ${time}, as `, { text: by }, " asked", ...approval];
  return [
    `wait until ${time}, then comment `,
    { code: commandText({ command: "sync", applications: step.only ?? [] }, words) },
    " to deploy stage ",
    name,
    ...approval,
  ];
}

const MOST_NAMES = 5;

function named(names: readonly ApplicationName[]): readonly Piece[] {
  return listedPieces(names.map((name) => [{ code: name }]));
}

function listedPieces(items: readonly (readonly Piece[])[], between = ", "): readonly Piece[] {
  const more = items.length - MOST_NAMES;
  const shown = items.slice(0, MOST_NAMES).flatMap((item, index) => (index === 0 ? item : [between, ...item]));
  return more > 0 ? [...shown, ` and ${more} more`] : shown;
}

/** What has to happen next, as a clause for the first line of an answer: `comment svc sync`, with the command as code. */
export function nextStepClause(step: NextStep, change: Reader, words: HostWords, links?: Links): string {
  return nextStepPieces(step, change, words)
    .map((piece) => markdownOf(piece, links))
    .join("");
}

export function nextStepSentence(step: NextStep, change: Reader, words: HostWords, links?: Links): string {
  return `${capitalised(nextStepClause(step, change, words, links))}.`;
}

/** The next step as a paragraph; a command that can be given now stands in a fence of its own, before `more`. */
export function nextStepText(
  step: NextStep,
  change: Reader,
  words: HostWords,
  { links, intro = "Next, comment", more = "" }: { links?: Links | undefined; intro?: string; more?: string } = {},
): string {
  if (step.kind !== "command") return joined([nextStepSentence(step, change, words, links), more], " ");
  const [, , ...rest] = nextStepPieces(step, change, words);
  const text = rest.map((piece) => markdownOf(piece, links)).join("");
  const said = text.replace(/^[,;]? /, "");
  return toCopy(intro, commandText(step, words), joined([said === "" ? "" : `${said}.`, more], " "));
}

function markdownOf(piece: Piece, links: Links | undefined): string {
  if (typeof piece === "string") return piece;
  if ("commit" in piece) return links === undefined ? code(shortRevision(piece.commit)) : headLink(piece.commit, links);
  if ("code" in piece) return code(piece.code);
  return piece.about === undefined || links === undefined
    ? sentence(piece.text)
    : changeLink(piece.text, piece.about, links);
}
