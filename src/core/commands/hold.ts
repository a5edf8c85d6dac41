import { parseDuration } from "../../config/schema-parts.js";
import type { HostId } from "../../names.js";
import { retryWhileUnavailable } from "../deploy/settle.js";
import { ownSources } from "../detect/inputs/moving-sources.js";
import { factsOfAsker } from "../facts/read-facts.js";
import type { Application } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import { allInTurns } from "../model/collections.js";
import type { Command } from "../model/command.js";
import type { Hold } from "../model/hold.js";
import { listed } from "../model/host-words.js";
import type { CommandResult } from "../model/result.js";
import type { Settings } from "../model/settings.js";
import { blankFacts } from "../policy/facts.js";
import { judge } from "../policy/judge.js";
import type { CommandContext } from "../ports/context.js";
import { definedHere, listedElsewhere } from "../survey/driving-right.js";
import { labelsFor, namesOf, selectedBy } from "./selection.js";

const LONGEST_REASON = 300;
const MOST_NAMES = 500;
/** How many holds one person may have, since every judgement reads all holds. */
const MOST_HOLDS = 20;
const MOST_LISTED = 5;

type HoldContext = Pick<
  CommandContext,
  | "change"
  | "settings"
  | "host"
  | "hostWords"
  | "user"
  | "deployer"
  | "holds"
  | "clock"
  | "timezone"
  | "signal"
  | "runId"
  | "isAdministrator"
>;

/**
 * Holds applications: those that the repository drives and the author may sync, or any for an administrator. A pattern means the
 * applications that match now: if it went on matching, it would come to hold those of other repositories.
 */
export async function hold(command: Command<"hold">, context: HoldContext): Promise<CommandResult> {
  const { change, holds, user, clock, timezone, runId } = context;
  const now = clock.now();
  const { applications, reason } = command;
  if (applications.length === 0) return notDone("hold", "-a has to name the applications");
  const problem = reasonProblem(reason);
  if (problem !== undefined) return notDone("hold", `--reason ${problem}`);
  const end = endOfHold(command.until === "" ? undefined : command.until, now, timezone);
  if ("problem" in end) return notDone("hold", `--until ${end.problem}`);
  const own = (await holds.list()).filter((one) => isBy(one, change.host, user.id) && one.id !== runId);
  if (own.length >= MOST_HOLDS) return notDone("hold", `you already have ${MOST_HOLDS} holds. Release one first`);
  const named = await heldBy(command, context);
  if ("kind" in named) return named;
  const by = { provider: change.host, id: user.id, login: user.login };
  const since = now.toISOString();
  const made: Hold = { id: runId, applications: named, reason: reason.trim(), by, since, until: end.until };
  await retryWhileUnavailable(clock, () => holds.save(made, now));
  return { kind: "held", hold: made };
}

/** The applications that a comment may hold, or why it may not. */
async function heldBy(
  command: Command<"hold">,
  context: HoldContext,
): Promise<readonly ApplicationName[] | CommandResult> {
  const { change, settings, hostWords, user, deployer, clock, signal } = context;
  const running = await deployer.listApplications(signal, clock.now());
  const isAdmin = await context.isAdministrator(change.host, user);
  const candidates = new Map(
    (isAdmin ? running : drivenFrom(running, change, settings)).map((one) => [String(one.name), one]),
  );
  const named = namesOf(command, [...candidates.keys()], (name) => candidates.get(name)?.labels);
  const deploys = isAdmin ? "Argo CD has" : `${change.repository} deploys`;
  if (named.kind === "refused") {
    const { refusal } = named;
    if (refusal.reason !== "no-match") return named;
    return notDone("hold", `${deploys} no application that matches ${listed(refusal.patterns, MOST_LISTED)}`);
  }
  const strange = named.items.filter((name) => !candidates.has(name));
  if (strange.length > 0) {
    const whose = isAdmin ? "" : ". What other repositories deploy is held by an administrator of svc";
    return notDone("hold", `${deploys} no application ${listed(strange, MOST_LISTED)}${whose}`);
  }
  if (named.items.length > MOST_NAMES) {
    const cure = "An administrator can hold patterns on svc's page";
    return notDone(
      "hold",
      `that is ${named.items.length} applications, and a comment holds ${MOST_NAMES} at most. ${cure}`,
    );
  }
  const live = new Map(running.map((one) => [one.name, one]));
  const held = named.items.flatMap((name) => candidates.get(name) ?? []);
  const deployed = async (one: Application) => {
    return { application: one.name, members: [], definedIn: await listedElsewhere(one, { live, change }, context) };
  };
  const facts = isAdmin
    ? blankFacts(change, hostWords[change.host], settings)
    : await factsOfAsker("sync", await allInTurns(held, deployed), context);
  const { refusal } = judge("hold", facts);
  return refusal === undefined ? held.map(({ name }) => name) : { kind: "refused", refusal };
}

/** The applications that run and that a repository may drive, decided on what runs alone. */
function drivenFrom(
  everyApplication: readonly Application[],
  change: ChangeRequest,
  settings: Settings,
): readonly Application[] {
  const defined = new Set(definedHere(everyApplication, change, settings).map(({ name }) => name));
  return everyApplication.filter(({ name, spec }) => defined.has(name) || ownSources(spec, change).length > 0);
}

/** Ends holds of the person who asks; an administrator also ends those of others, by name. A hold ends as a whole. */
export async function release(
  { applications }: Command<"release">,
  context: Pick<HoldContext, "change" | "user" | "holds" | "isAdministrator" | "deployer" | "clock" | "signal">,
): Promise<CommandResult> {
  const { change, user, holds, clock } = context;
  const [standing, labelsOf] = await Promise.all([holds.list(), labelsFor({ applications }, context)]);
  // Holds of the pages carry an account, perhaps of another server, where the same id is somebody else's.
  const isOfAccount = (one: Hold) => isBy(one, change.host, `${change.host}:${user.id}`);
  const isAdmin =
    (applications.length > 0 || standing.some(isOfAccount)) && (await context.isAdministrator(change.host, user));
  const candidates = standing.filter(
    (one) => isBy(one, change.host, user.id) || (isAdmin && (applications.length > 0 || isOfAccount(one))),
  );
  const isNamed = (held: string) =>
    applications.length === 0 ||
    applications.some((one) => one === held || selectedBy(one, [held], labelsOf)?.includes(held));
  const chosen = candidates.filter((one) => one.applications.some(isNamed));
  if (chosen.length === 0) {
    const what = applications.length === 0 ? "nothing" : `nothing that ${listed(applications, MOST_LISTED)} names`;
    return notDone("release", `you hold ${what}. Whoever set a hold, or an administrator of svc, releases it`);
  }
  const partly = chosen.find((one) => !one.applications.every(isNamed));
  if (partly !== undefined) {
    const names = listed(partly.applications, MOST_LISTED);
    return notDone("release", `the hold of ${names} ends as a whole. Name all of it with -a`);
  }
  await Promise.all(chosen.map(({ id }) => retryWhileUnavailable(clock, () => holds.remove(id))));
  return { kind: "released", holds: chosen };
}

function isBy({ by }: Hold, host: HostId, id: string): boolean {
  return by.provider === host && by.id === id;
}

function notDone(command: "hold" | "release", because: string): CommandResult {
  return { kind: "refused", refusal: { reason: "not-done", command, because } };
}

export const WHY = "must say why, for those who wait";

/** What is wrong with the reason of a hold: `must …`. */
export function reasonProblem(text: string): string | undefined {
  const reason = text.trim();
  if (reason === "") return WHY;
  if (reason.length > LONGEST_REASON) return `must not be longer than ${LONGEST_REASON} characters`;
  return /[\p{Cc}\p{Cf}\u2028\u2029]/u.test(reason) ? "must be one line of text" : undefined;
}

/** When a hold ends: after a duration, at a time of this day or by ISO 8601, or in a day without a text. `problem`: `must …`. */
export function endOfHold(
  text: string | undefined,
  now: Date,
  timezone: string,
): { readonly until: string } | { readonly problem: string } {
  const end = text === undefined ? now.getTime() + HOLD_MS : readEnd(text, now, timezone);
  if (end > now.getTime() && end <= now.getTime() + LONGEST_HOLD_MS) return { until: new Date(end).toISOString() };
  if (end <= now.getTime()) {
    const here = new Date(localTime(now.getTime(), timezone)).toISOString();
    return { problem: `must be in the future: it is now ${here.slice(0, 10)} ${here.slice(11, 16)} in ${timezone}` };
  }
  return {
    problem:
      "must be a duration such as 2h, or a time such as 18:00 (today) or 2026-03-01T18:00:00Z, within 30 days from now",
  };
}

/** Milliseconds since 1970; NaN if the text is none of these. */
function readEnd(text: string, now: Date, timezone: string): number {
  const duration = parseDuration(text);
  if (duration !== undefined) return now.getTime() + duration;
  const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hours !== undefined && minutes !== undefined) {
    const day = new Date(localTime(now.getTime(), timezone)).toISOString().slice(0, 10);
    const wanted = Date.parse(`${day}T${hours.padStart(2, "0")}:${minutes}:00Z`);
    // The zone's distance from UTC may change in between; the second look is at the time itself.
    const roughly = wanted - (localTime(now.getTime(), timezone) - now.getTime());
    const end = wanted - (localTime(roughly, timezone) - roughly);
    // Where clocks skip the wanted hour, the second look ends an hour early.
    return localTime(end, timezone) < wanted ? roughly : end;
  }
  const [, date] = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  return date !== undefined && isDay(date) ? Date.parse(text) : NaN;
}

/** Whether such a day exists. `Date.parse` cannot tell: it reads 30 February as 2 March. */
function isDay(date: string): boolean {
  const day = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(date);
}

/** What a clock in the time zone shows, as if it were UTC. Whole seconds. */
function localTime(at: number, timeZone: string): number {
  const shown = new Date(at).toLocaleString("sv-SE", { timeZone });
  return Date.parse(`${shown.replace(" ", "T")}Z`) + (at % 1000);
}

/** How long a hold stands if nobody says until when, and at most, in milliseconds: a day, and 30 days. */
export const HOLD_MS = 24 * 60 * 60 * 1000;
const LONGEST_HOLD_MS = 30 * HOLD_MS;
