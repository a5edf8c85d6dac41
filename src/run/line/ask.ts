import { hasToldForm } from "../../comments/publish.js";
import { COMMANDS, isDeploying } from "../../core/commands/commands.js";
import { isAddressed, parseComment, parseSigned } from "../../core/commands/parse-command.js";
import type { ChangeRequestRef, User } from "../../core/model/change-request.js";
import { HostFailure, only } from "../../core/model/errors.js";
import type {
  GroupFormed,
  HeadApproved,
  HostEvent,
  LockLost,
  Marked,
  RolloutMoved,
  TurnCame,
} from "../../core/model/event.js";
import { type Answerable, AUTOPLAN, type GivenCommand, silent, type Silent } from "./outcome.js";
import type { Run } from "./run.js";

/** Reads an event: a command, another task, or a reason to stay silent. */
export async function ask(event: HostEvent, run: Run): Promise<Asked> {
  switch (event.kind) {
    case "closed":
      return { kind: "close" };
    case "reviewed":
      return { kind: "revisit" };
    case "turn":
    case "lock-lost":
    case "marked":
    case "merge-group":
    case "rollout":
      return event;
    case "stage-due": {
      const { id, by, applications, prune } = event.next;
      const command = { name: "sync", applications, prune, dryRun: false, automatic: true } as const;
      return { kind: "command", command, by, stage: id, commentId: undefined, found: undefined, access: "unknown" };
    }
    case "updated":
      return { ...AUTOPLAN, pushed: event.pushed };
    case "plan-wanted":
      return { ...AUTOPLAN, wanted: true };
    case "commented":
      return askedInComment(event, run);
    case "approved":
      return askedByApproval(event);
  }
}

/**
 * An ordinary comment costs no call. Ignores our own comments and those of other bots, and outsiders once one of them was
 * answered on this change request: only then is the rest of the comment parsed.
 */
async function askedInComment(
  { body, author, commentId, change, found }: Extract<HostEvent, { kind: "commented" }>,
  run: Run,
): Promise<Asked> {
  const { config, host, outsiders } = run;
  const { command: word } = config.server;
  if (!isAddressed(body, word)) return askedWithSign({ body, author, change }, run);
  const isAllowedBot = config.defaults.allowedBots.includes(author.login.toLowerCase());
  if (author.bot && !isAllowedBot) return silent("not-addressed");
  if (author.id === (await host.self()).id) return silent("not-addressed");
  const access = await earlyAccess(change, author, run);
  if (access === "none" && (await outsiders.wereAnswered(host, change))) return silent("refused-before");
  const program = isAllowedBot ? false : await isProgram(author, run);
  if (program === true) return silent("not-addressed");
  const parsed = parseComment(body, word);
  if (parsed === undefined) return silent("not-addressed");
  if (parsed.kind === "command") {
    const unclear = program === undefined;
    return { kind: "command", command: parsed.command, by: author, commentId, found, access, unclear };
  }
  const { guess, unknownOption } = parsed;
  return { kind: "invalid", command: undefined, guess, unknownOption, by: author, access };
}

/** The sync that an approval starts, as if the approver had commented the command without options. */
function askedByApproval({ by, headRevision, plannedAt }: HeadApproved): GivenCommand {
  const command = { name: "sync", applications: [], dryRun: false, prune: false, automatic: true } as const;
  return {
    kind: "command",
    command,
    by,
    commentId: undefined,
    approved: { headRevision, plannedAt },
    found: undefined,
    access: "unknown",
  };
}

/** A command after `/` or `@` is answered with the right form: to who may give it, and once per change request. */
async function askedWithSign(
  { body, author, change }: Pick<Extract<HostEvent, { kind: "commented" }>, "body" | "author" | "change">,
  run: Run,
): Promise<Asked> {
  const { config, host, hostWords, outsiders } = run;
  const signed = parseSigned(body, config.server.command, hostWords[change.host].signs);
  if (signed === undefined || author.bot || author.id === (await host.self()).id) return silent("not-addressed");
  if (!(await outsiders.mayCommand(host, change, author))) return silent("not-addressed");
  if ((await isProgram(author, run)) !== false) return silent("not-addressed");
  if (await hasToldForm(host, change)) return silent("refused-before");
  return { kind: "invalid", command: undefined, ...signed, unknownOption: undefined, by: author, access: "write" };
}

/** Undefined if the host does not tell: then the author gets a reply, and commands only with write access. */
async function isProgram(author: User, { host, log }: Run): Promise<boolean | undefined> {
  try {
    return await host.isProgram(author);
  } catch (error) {
    if (!(error instanceof HostFailure)) throw error;
    log.warn({ err: error, login: author.login }, "could not tell whether the author of a command is a program");
    return undefined;
  }
}

/**
 * The write access of a comment's author, unless a failure to read it has to be answered, a deployment that an earlier
 * attempt started has to be followed first, or only the change request's facts tell whether access is needed.
 */
async function earlyAccess(
  change: ChangeRequestRef,
  author: User,
  { config, host, outsiders, ticket }: Run,
): Promise<GivenCommand["access"]> {
  if (ticket.again || config.defaults.commandAccess !== "write") return "unknown";
  const may = await outsiders.mayCommand(host, change, author).catch(only(HostFailure, () => undefined));
  if (may === undefined) return "unknown";
  return may ? "write" : "none";
}

/** Forgets the access that was asked under another name than the repository has now: it may be to another repository. */
export function withPresentAccess(asked: Answerable, before: ChangeRequestRef, change: ChangeRequestRef): Answerable {
  if (asked.kind === "autoplan" || change.repository === before.repository) return asked;
  return { ...asked, access: "unknown" };
}

/**
 * Keeps the run's signal only for what a push or a close may stop. A command that resumes a deployment runs to its end:
 * what it started is followed, and the rest is checked again. So does a plan that somebody wants of a head whose push is told late.
 */
export function heedingStops(asked: Answerable, run: Run): Run {
  const { command } = asked;
  const wanted = asked.kind === "autoplan" && asked.wanted === true;
  const stops = command !== undefined && COMMANDS[command.name].stoppable;
  const resumes = command !== undefined && run.ticket.again && isDeploying(command);
  return stops && !resumes && !wanted ? run : { ...run, signal: new AbortController().signal };
}

/** The reading of an event. */
type Asked =
  | Answerable
  | Silent
  | { readonly kind: "close" }
  | { readonly kind: "revisit" }
  | GroupFormed
  | LockLost
  | Marked
  | RolloutMoved
  | TurnCame;
