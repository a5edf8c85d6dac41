import { isPattern } from "../config/pattern.js";
import { COMMAND_NAMES, COMMANDS, isDeploying, isGatedBy, optionsOf } from "../core/commands/commands.js";
import { type OptionName, OPTIONS } from "../core/commands/options.js";
import { nameable } from "../core/commands/parse-command.js";
import { readLabelSelector } from "../core/commands/selection.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { Command, CommandName } from "../core/model/command.js";
import { type HostWords, listed } from "../core/model/host-words.js";
import type { NextStep } from "../core/model/next-step.js";
import type { BarredApplication, MemberNeed, Refusal } from "../core/model/result.js";
import type { AccessCommand, AccessRule } from "../core/model/settings.js";
import type { Advice } from "../core/policy/next-step.js";
import { REPOSITORY_FILE, SERVER_FILE, SERVER_RULES } from "../names.js";
import { leftText, nextStepClause, nextStepText } from "./next-step-words.js";
import {
  type Block,
  blocksOf,
  capitalised,
  code,
  codes,
  details,
  fence,
  joined,
  type Links,
  listOf,
  lockedBy,
  plainName,
  sentence,
  shortened,
  toCopy,
  unreadText,
  warning,
} from "./parts.js";
import type { ResultFacts } from "./sync-result.js";

const MAX_REASON = 4000;

const MAX_FILES = 20;
const MAX_PATH = 200;

/** What git says of a revert that cannot be made. */
function conflictText(files: readonly string[] | undefined): string {
  if (files === undefined) return "";
  const named = files.map((path) => code(shortened(path, MAX_PATH)));
  return ` There are conflicts in ${listed(named, MAX_FILES)}. Revert it with git, and resolve them.`;
}

/** The commands that a person can write, as a list. */
export function commandList({ command }: Pick<HostWords, "command">): string {
  return COMMAND_NAMES.map((name) => `- ${code(usageOf(name, command))}: ${COMMANDS[name].summary}`).join("\n");
}

/** How a command is written: `svc sync -a web --dry-run`. Patterns are quoted as for a shell. @param word The command word. */
export function writtenCommand(command: Command, word: string): string {
  const given = new Map<string, string | boolean | readonly string[]>(Object.entries(command));
  const options = optionsOf(command.name).flatMap((option) => {
    const [flag] = OPTIONS[option].flags;
    const value = given.get(option);
    if (typeof value === "string") {
      const quote = value.includes('"') ? "'" : '"';
      return value === "" ? [] : [`${flag} ${quote}${value}${quote}`];
    }
    if (!Array.isArray(value)) return value === true ? [flag] : [];
    return value.map((one: string) => `${flag} ${isPattern(one) ? `'${one}'` : one}`);
  });
  return [word, command.name, ...options].join(" ");
}

/** How a command may be written: `svc plan [-a <application>]`. @param word The command word. */
export function usageOf(name: CommandName, word: string): string {
  const options = Object.entries(COMMANDS[name].options).map(([option, how]) => {
    const { flags, value } = OPTIONS[option as OptionName];
    const usage = [flags[0], value].filter((part) => part !== undefined).join(" ");
    return how === "needed" ? usage : `[${usage}]`;
  });
  return [word, name, ...options].join(" ");
}

interface RefusalFacts extends Pick<ResultFacts, "words" | "links" | "advice"> {
  readonly change: ChangeRequestRef;
  /** The refused command; undefined if the comment was none. */
  readonly command?: Command | undefined;
}

/** Why nothing was run and what to do, a paragraph each. Texts that the specification quotes are kept to the letter. */
export function refusalBlocks(refusal: Refusal, facts: RefusalFacts, next?: NextStep): readonly Block[] {
  const { change, words, links } = facts;
  const step = next === undefined || isSaid(refusal, next) ? "" : nextStepText(next, change, words, { links });
  const paragraphs = [paragraphsOf(refusal, facts)].flat();
  return blocksOf([...paragraphs, next?.kind === "command" ? unsaid(step, paragraphs) : step]);
}

/** A step without its command, where that stands above already. */
function unsaid(step: string, paragraphs: readonly string[]): string {
  const [, command] = /^[^\n]+:\n(`{3,}\n.+\n`{3,})/.exec(step) ?? [];
  if (command === undefined || !paragraphs.some((text) => text.includes(command))) return step;
  return capitalised(step.slice(step.indexOf(command) + command.length).trim());
}

/** Whether the refusal itself says what has to happen next. */
function isSaid({ reason }: Refusal, next: NextStep): boolean {
  switch (next.kind) {
    case "command":
      return next.command === "plan" && (reason === "stale" || reason === "head-moved");
    case "push":
      return reason === "conflicts" && next.because === "conflicts";
    case "wait":
      return reason === "locked-by-other";
    case "later":
      return reason === "cannot-tell";
    case "stage":
      return reason === "not-deployable" && next.because !== undefined;
    case "approve":
    case "approve-rules":
    case "checks":
    case "held":
    case "mend":
    case "merge":
    case "merging":
    case "none":
    case "retry":
    case "undone":
      return false;
  }
}

function paragraphsOf(
  refusal: Refusal,
  { change, words, links, advice, command }: RefusalFacts,
): string | readonly string[] {
  const { command: word, short, title } = words;
  switch (refusal.reason) {
    case "not-a-command":
      return [`not ${/^[aeiou]/.test(word) ? "an" : "a"} ${word} command`, ...unknownPart(refusal, words)];
    case "nothing-locked":
      return [
        planHelps(advice?.next)
          ? "No applications are locked by this PR. Run the plan command first."
          : "No applications are locked by this PR.",
        nextText(advice, change, words, links) ?? toCopy("Next, comment", `${word} plan`),
      ];
    case "not-locked":
      return [
        `Not locked by this ${short}: ${codes(refusal.applications)}.${meant(refusal, words)} ${hasText(refusal, words)}`,
        ...refusal.applications.flatMap((name) => stepOf(name, advice, change, words)),
      ];
    case "not-approved":
      return [
        "PR must be approved before sync",
        sentence(refusal.missing),
        `Approval is required for ${codes(refusal.applications)}.`,
        neededBy(refusal.needs ?? [], command?.name),
        narrower(refusal.others, words, command),
      ];
    case "stale":
      return [
        ...refusal.applications.map(({ application, planFailure, differs, moved }) =>
          joined(
            [
              `Plan for ${plainName(application)} is stale. Please run the plan command again.`,
              differs === undefined ? "" : `Nothing was deployed: ${sentence(shortened(differs, MAX_REASON))}.`,
              planFailure === undefined
                ? ""
                : `The last plan could not evaluate it:\n\n${fence(shortened(planFailure, MAX_REASON))}`,
              moved === undefined ? "" : warning(moved),
            ],
            "\n\n",
          ),
        ),
        refusal.applications.some(({ differs }) => differs !== undefined)
          ? narrower(refusal.others, words, command, true)
          : narrower(refusal.others, words, command) || "Nothing was deployed.",
      ];
    case "unread-files":
      return unreadText(refusal.files, words);
    case "conflicts":
      return "PR has merge conflicts, please resolve before syncing";
    case "mergeability-unknown":
      return `${title} is still computing whether this ${short} can be merged. Nothing was deployed; please try again in a minute.`;
    case "auto-sync":
      return [
        ...refusal.applications.map(
          (name) =>
            `Application ${plainName(name)} has auto-sync enabled. Disable auto-sync before using the service to prevent conflicts.`,
        ),
        ...(refusal.inSteps ?? []).map(
          ({ application, set }) =>
            `The ApplicationSet ${plainName(set)} syncs ${plainName(application)} by RollingSync, which counts as auto-sync: set the set's ${code("strategy.type")} to ${code("AllAtOnce")}.`,
        ),
        narrower(refusal.others, words, command),
      ];
    case "not-deployable":
      return [listOf("Nothing was deployed:", refusal.applications), narrower(refusal.others, words, command, true)];
    case "unknown-applications":
      return `application not found: ${codes(refusal.applications)}. This ${short} affects no application of that name; comment ${code(`${word} plan`)} to see which it affects.${meant(refusal, words)}`;
    case "no-match":
      return `No application of this ${short} matches ${codes(refusal.patterns)}, so nothing was done.${labelHint(refusal.patterns, short)}${choice(refusal.applications)}`;
    case "locked-by-other":
      return [
        ...refusal.locks.map((lock) => `${plainName(lock.application)}: ${lockedBy(lock, change, links)}`),
        ...(refusal.written ?? []).map(({ child, parent, deletes }) => {
          const does = deletes === true ? "delete" : "write the definition of";
          return `A ${command?.name ?? "sync"} of ${code(parent)} would ${does} ${code(child)}, so it waits for that lock.`;
        }),
        "Nothing was done. Ask the holder to sync or to unlock it.",
      ];
    case "cannot-tell":
      return [
        ["Nothing was done, because svc cannot tell", ...refusal.doubts.map((doubt) => `- ${sentence(doubt)}`)].join(
          "\n",
        ),
        "Repeat the command once that can be read again.",
      ];
    case "head-moved":
      return `${refusal.base === undefined ? "New commits were pushed" : `The base branch changed to ${code(refusal.base)}`} while this command was checked. Nothing was deployed. Comment ${code(`${word} plan`)} and review the new plan first.`;
    case "plan-unseen":
      return "This command was written before the plan of the current head commit was posted. Nothing was deployed. Review that plan, then repeat the command.";
    case "store-unavailable":
      return "failed to acquire lock\n\nThe lock store did not answer, so nothing was run. Please try again in a minute. If that does not help, check the store's address and health.";
    case "found-late":
      return `This command reached the service late: its webhook was lost, or the service was down. Nothing was run. If you still want it, comment ${code(`${word} ${refusal.command}`)} again.`;
    case "closed": {
      const working = COMMAND_NAMES.filter((name) => !isGatedBy(name, "closed") && works(name, advice, refusal.state));
      return [
        `This ${short} is ${refusal.state}. Only ${codes(working)} work here.`,
        nextText(advice, change, words, links) ?? "",
      ];
    }
    case "fork":
      return `This ${short} comes from a fork. Its content is not planned or deployed unless the server allows it (${code("defaults.allow_forks")}).`;
    case "not-done": {
      const because = sentence(shortened(refusal.because, MAX_REASON));
      switch (refusal.command) {
        case "update":
          return `The branch was not updated: ${because}. Bring the target branch into it with git and push.`;
        case "revert":
          return `No revert was opened: ${because}.${conflictText(refusal.files)}`;
        case "hold":
          return `Nothing was held: ${because}.`;
        case "release":
          return `Nothing was released: ${because}.`;
      }
    }
    case "no-write-access":
      return `${code(refusal.login)} has no write access to ${code(change.repository)}, which this command needs. Ask someone who has it.`;
    case "not-allowed": {
      const items = refusal.applications.map((one) => ({
        application: one.application,
        reason: whoMay(one, refusal.command),
      }));
      return [
        listOf(`${code(refusal.login)} may not run ${code(`${word} ${refusal.command}`)} for:`, items),
        `${refusal.others.length === 0 ? "Nothing was run. " : ""}Ask someone who may. ${whereRulesAre(refusal.applications)}`,
        narrower(refusal.others, words, command),
      ];
    }
    case "repository-file":
      return [
        `${code(REPOSITORY_FILE)} cannot be used, so nothing is planned or deployed:`,
        fence(shortened(refusal.problems.join("\n"), MAX_REASON)),
        `Fix the file and push; ${codes(COMMAND_NAMES.filter((name) => !isGatedBy(name, "broken-rules") && works(name, advice)))} still work.`,
      ];
    case "superseded":
      return refusal.by === "closed"
        ? `The plan was stopped because this ${short} was closed.`
        : `The plan was stopped because new commits were pushed. Comment ${code(`${word} plan`)} to plan them.`;
    case "failure":
      return [
        "The command could not be finished:",
        fence(shortened(refusal.message, MAX_REASON)),
        "Nothing more was done. Once the cause is fixed, repeat the command.",
      ];
  }
}

/** What of a comment that is no command is unknown and what was meant. Only if nobody knows, all commands are shown open. */
function unknownPart(
  { suggestion, unknownWord, unknownOption, sign }: Extract<Refusal, { readonly reason: "not-a-command" }>,
  words: HostWords,
): readonly string[] {
  const { command: word, short } = words;
  const all = commandList(words);
  if (suggestion !== undefined) {
    const unknown = unknownWord === undefined ? "" : `This ${short} has no application ${code(unknownWord)}.`;
    const form = sign === undefined ? "" : `A command begins with ${code(word)}, without ${code(sign)}.`;
    return [`${unknown}${form}${meant({ suggestion }, words)}`.trim(), details("All commands", all)];
  }
  if (unknownOption === undefined) return [all];
  const { command, option } = unknownOption;
  const usage = `${code(`${word} ${command}`)} has no option ${code(option)}. Write ${code(usageOf(command, word))}.`;
  return [usage, details("All commands", all)];
}

function meant({ suggestion }: { readonly suggestion?: Command | undefined }, { command }: HostWords): string {
  return suggestion === undefined ? "" : ` Did you mean ${code(writtenCommand(suggestion, command))}?`;
}

const MAX_CHOICE = 20;

function hasText(
  { held, deployed = [] }: Extract<Refusal, { readonly reason: "not-locked" }>,
  { short }: HostWords,
): string {
  const has = [["locked", held] as const, ["deployed", deployed] as const].filter(([, names]) => names.length > 0);
  return `This ${short} has ${has.map(([how, names]) => `${how} ${listed(names.map(code), MAX_CHOICE)}`).join(" and ")}.`;
}

function choice(applications: readonly string[]): string {
  if (applications.length === 0) return "";
  return ` Its applications are ${listed(applications.map(code), MAX_CHOICE)}.`;
}

/** Whether a plan can lock what a command found unlocked; true too if nothing is known. */
function planHelps(next: NextStep | undefined): boolean {
  if (next?.kind === "wait" || next?.kind === "none") return false;
  if (next?.kind === "push") return next.because !== "rules-broken";
  return next?.kind !== "command" || next.command !== "rollback";
}

function nextText(
  advice: Advice | undefined,
  change: ChangeRequestRef,
  words: HostWords,
  links: Links,
): string | undefined {
  return advice && nextStepText(advice.next, change, words, { links });
}

function stepOf(
  name: string,
  advice: Advice | undefined,
  change: ChangeRequestRef,
  words: HostWords,
): readonly string[] {
  const step = advice?.each.get(name);
  return step === undefined ? [] : [`${code(name)}: ${nextStepClause(step, change, words)}.`];
}

/** A rollback needs something that is locked or deployed, a revert something that is merged. */
function works(name: CommandName, advice: Advice | undefined, state?: "closed" | "merged"): boolean {
  if (name === "revert") return state === "merged";
  return name !== "rollback" || advice?.undoable !== false;
}

const MAX_NEEDS = 20;

/** Why an approval is required although an application's own rules do not ask for it. */
function neededBy(needs: readonly MemberNeed[], command: CommandName = "sync"): string {
  if (needs.length === 0) return "";
  const items = needs.slice(0, MAX_NEEDS).map(({ application, member, because }) => {
    const through = member === application ? [] : [`a ${command} of ${application} changes it`];
    return { application: member, reason: [...through, because || "its rules require an approval"].join("; ") };
  });
  const more = needs.length - items.length;
  return `${listOf("What requires it:", items)}${more > 0 ? `\n- and ${more} more` : ""}`;
}

/** Offers the command, with its other options, for the applications that passed the check. @param isSaid that nothing was done. */
function narrower(others: readonly string[], words: HostWords, command: Command | undefined, isSaid = false): string {
  if (others.length === 0 || command === undefined || !("applications" in command)) return "";
  const narrowed = writtenCommand({ ...command, applications: nameable(others) }, words.command);
  const nothing = isSaid ? "" : `Nothing was ${isDeploying(command) ? "deployed" : "done"}. `;
  const intro = `${nothing}To continue with the others, comment`;
  const left = leftText(others);
  return toCopy(intro, narrowed, left === "" ? "" : `${capitalised(left)}.`);
}

function whoMay({ allowed, because, problem, through }: BarredApplication, command: AccessCommand): string {
  const reached = through === undefined ? "" : `; a ${command} of ${through} changes it`;
  const bound = because === undefined ? "" : `; ${because}`;
  const doubt = problem === undefined ? "" : `; could not check whether this person is one of them: ${problem}`;
  return `${whoOf(allowed)}${reached}${bound}${doubt}`;
}

function whoOf(rules: readonly AccessRule[]): string {
  const empty = rules.find(({ users, teams }) => users.length + teams.length === 0);
  if (empty?.from !== undefined) return `nobody may, because the list of ${empty.from} names nobody here`;
  if (empty !== undefined) return "nobody may, because the list is empty";
  const lists = rules.map(({ users, teams, from }) => {
    const named = [...users, ...(teams.length === 0 ? [] : [`members of ${teams.join(", ")}`])].join(", ");
    return from === undefined ? named : `${named} (by the rules of ${from})`;
  });
  return `only ${[...new Set(lists)].join(", and of those only ")} may`;
}

function whereRulesAre(applications: readonly BarredApplication[]): string {
  const found = new Set(applications.flatMap(({ allowed }) => allowed.map(({ from }) => from)));
  const [isServer, isOwn] = [found.delete(SERVER_RULES), found.delete(undefined)];
  const places = [
    ...(isOwn || found.size > 0 ? [`${code(REPOSITORY_FILE)} on the base branch`] : []),
    ...(found.size > 0 ? ["the one of the repository named above"] : []),
    ...(isServer ? [`${code(SERVER_FILE)}, which svc's administrators keep`] : []),
  ];
  return `The rule is in ${places.join(", or in ")}, under ${code("sync_requirements")}.`;
}

function labelHint(selected: readonly string[], short: string): string {
  if (!selected.some((one) => readLabelSelector(one) !== undefined)) return "";
  return ` svc goes by the labels that Argo CD has now, not by those that this ${short} writes.`;
}
