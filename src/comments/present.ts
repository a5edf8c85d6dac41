import type { ApplicationName } from "../core/model/brand.js";
import { type ChangeRequest, sameChangeRequest } from "../core/model/change-request.js";
import { type Deployment, runningSync, type RunningSync } from "../core/model/deployment.js";
import { counted, listed, type HostWords } from "../core/model/host-words.js";
import type { Plan } from "../core/model/plan/plan.js";
import type { Rollout, FollowedApplication, RolloutState } from "../core/model/rollout.js";
import { minuteText } from "../core/model/time.js";
import type { Facts } from "../core/policy/facts.js";
import { SERVICE } from "../names.js";
import { markerLine } from "./marker.js";
import {
  applicationLink,
  block,
  capitalised,
  code,
  codes,
  cutBlocks,
  firstLines,
  joined,
  type Links,
  shortened,
} from "./parts.js";

/** What became of a plan since, apart from its locks. */
export interface Present {
  readonly state: ChangeRequest["state"];
  /** Who approved the head, where an approval is required. */
  readonly approvers: readonly string[];
  /** Its deployments of this head, failed ones too. */
  readonly deployed: readonly Deployed[];
  /** The sync of this head that runs now. */
  readonly running?: RunningSync | undefined;
  /** The rollout of its merge, where that is followed. */
  readonly rollout?: Rollout | undefined;
}

type Deployed = Pick<Deployment, "application" | "outcome" | "user" | "timestamp" | "seconds">;

/** What became of a plan. @param records of any change request. */
export function presentOf(
  plan: Pick<Plan, "head">,
  change: ChangeRequest,
  approval: Facts["approval"],
  records: readonly Deployment[],
): Present {
  const own = records.filter((one) => one.revision === plan.head && sameChangeRequest(one.change, change));
  return {
    state: change.state,
    approvers: approval?.approved === true ? approval.approvers : [],
    running: runningSync(own, plan.head),
    deployed: own
      .map(({ application, outcome, user, timestamp, seconds }) => ({ application, outcome, user, timestamp, seconds }))
      .sort((a, b) => (a.application < b.application ? -1 : 1)),
  };
}

/** What has happened since the plan, for below the verdict; empty if nothing has. */
export function presentText(present: Present, applications: readonly ApplicationName[], links: Links): string {
  const rollout = present.rollout === undefined ? "" : rolloutText(present.rollout, links);
  return joined([presentLine(present, applications), rollout], "\n\n");
}

function presentLine(
  { state, approvers, deployed, running }: Present,
  applications: readonly ApplicationName[],
): string {
  const done = deployed.filter(({ outcome }) => outcome === "succeeded");
  const [only] = deployed;
  if (running !== undefined && applications.length > 1) {
    return `⏳ sync running, ${running.done} of ${counted(running.total, "application")} done, by ${code(running.user)}`;
  }
  const deployments =
    applications.length === 1 && only !== undefined
      ? deploymentText(only)
      : done.length === 0
        ? ""
        : `✅ ${done.length} of ${counted(applications.length, "application")} ${togetherText(done)}`;
  const approved = state !== "open" || approvers.length === 0 ? "" : `approved by ${codes(approvers)}`;
  return capitalised(joined([STATES[state], deployments, approved], " · "));
}

/** Says who deployed them, and when and in how long if that is the same for all. */
function togetherText(all: readonly Deployed[]): string {
  const users = [...new Set(all.map(({ user }) => code(user)))];
  const [time, ...times] = new Set(all.map(({ timestamp }) => minuteText(timestamp)));
  const [length, ...lengths] = new Set(all.map(({ seconds }) => seconds));
  const when = time === undefined || times.length > 0 ? "" : `, ${time}`;
  const took = length === undefined || lengths.length > 0 ? "" : `, in ${lengthText(length)}`;
  return `deployed by ${listed(users, MOST_USERS)}${when}${took}`;
}

const MOST_USERS = 3;

const STATES = { open: "", merged: "**Merged**", closed: "**Closed without a merge**" } as const;

/** What was deployed of an application, by whom, when and in how long; undefined if nothing was. */
export function deployedText(application: ApplicationName, { deployed }: Present): string | undefined {
  const found = deployed.find((one) => one.application === application);
  return found && deploymentText(found);
}

function deploymentText({ outcome, user, timestamp, seconds }: Deployed): string {
  const [by, at] = [`by ${code(user)}`, minuteText(timestamp)];
  switch (outcome) {
    case "succeeded":
      return `✅ deployed ${by}, ${at}${seconds === undefined ? "" : `, in ${lengthText(seconds)}`}`;
    case "failed":
      return `❌ its sync ${by} failed, ${at}`;
    case "started":
      return `⏳ its sync ${by} began, ${at}`;
    case "unknown":
      return `❓ how its sync ${by} ended is not known, ${at}`;
  }
}

export function lengthText(seconds: number): string {
  return seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}

const MOST_LISTED = 50;
const LONGEST_MESSAGE = 500;

/** How far the rollout of a merge is: a sentence, and the state of each application. */
function rolloutText(rollout: Rollout, links: Links): string {
  const { applications } = rollout;
  const lines = firstLines(
    [...applications]
      .sort((left, right) => ORDER[left.state.kind] - ORDER[right.state.kind])
      .map((one) => lineOf(one, links)),
    MOST_LISTED,
  );
  return joined([sentenceOf(rollout), unapproved(rollout), lines.join("\n")], "\n\n");
}

const ORDER: Readonly<Record<RolloutState["kind"], number>> = {
  failed: 0,
  failing: 1,
  manual: 2,
  waiting: 3,
  reached: 4,
};

const SYMBOLS: Readonly<Record<RolloutState["kind"], string>> = {
  failed: "❌",
  failing: "⚠️",
  manual: "✋",
  waiting: "⏳",
  reached: "✅",
};

function lineOf({ application, origin, state }: FollowedApplication, links: Links): string {
  const { kind, why, message = "" } = state;
  const said = message === "" ? "" : `: ${code(shortened(message, LONGEST_MESSAGE))}`;
  return `- ${SYMBOLS[kind]} ${applicationLink(application, links)} (${code(origin)}) ${why}${said}`;
}

function unapproved({ approval }: Rollout): string {
  switch (approval) {
    case "given":
      return "";
    case "missing":
      return "⚠️ **It was merged, and is deployed, without the approval that its rules require.**";
    case "unknown":
      return `⚠️ ${SERVICE} could not read whether it was merged with the approval that its rules require.`;
  }
}

function sentenceOf(rollout: Rollout): string {
  const { applications, merged, since, until, ended } = rollout;
  const commit = code(merged.slice(0, 8));
  const of = (kind: RolloutState["kind"]) => applications.filter(({ state }) => state.kind === kind);
  const reached = of("reached").length;
  if (ended === undefined) {
    const all = `${reached} of ${counted(applications.length, "application")}`;
    return `⏳ **After the merge** as ${commit}: ${all} rolled out. ${SERVICE} keeps looking until ${minuteText(until)}.`;
  }
  const length = lengthText((Date.parse(ended) - Date.parse(since)) / 1000);
  const [failed, manual] = [of("failed"), of("manual")];
  const waits =
    manual.length === 0
      ? ""
      : ` ${namesOf(manual)} ${manual.length === 1 ? "has" : "have"} to be synced in Argo CD by hand.`;
  if (failed.length > 0) {
    const did = failed.length === 1 ? "has" : "have";
    return `❌ **After the merge** as ${commit}, ${namesOf(failed)} ${did} not rolled out after ${length}.${waits}`;
  }
  if (reached === 0) return `✋ **After the merge** as ${commit}, nothing rolled out by itself.${waits}`;
  const who =
    applications.length === 1
      ? "the application"
      : reached === applications.length
        ? `all ${reached} applications`
        : counted(reached, "application");
  return `✅ **After the merge** as ${commit}, ${who} rolled out in ${length}.${waits}`;
}

const MOST_NAMED = 10;

function namesOf(some: readonly FollowedApplication[]): string {
  return listed(
    some.map(({ application }) => code(application)),
    MOST_NAMED,
  );
}

/** Says, in a comment of its own, that something has failed after the merge. */
export function renderRolloutFailure(rollout: Rollout, links: Links, words: HostWords): string {
  const failed = rollout.applications.filter(({ state }) => state.kind === "failed");
  const commit = code(rollout.merged.slice(0, 8));
  const lines = firstLines(
    failed.map((one) => lineOf(one, links)),
    MOST_LISTED,
  );
  return [
    markerLine({ kind: "rollout" }),
    `## ${SERVICE} Failed after the merge`,
    "",
    `❌ This ${words.short} was merged as ${commit}, and ${counted(failed.length, "application")} ${failed.length === 1 ? "has" : "have"} not rolled out:`,
    "",
    ...cutBlocks([block(lines.join("\n"))], words.maxComment / 2).map(({ text }) => text),
    ...(rollout.approval === "given" ? [] : ["", unapproved(rollout)]),
    "",
    `Repair it in Argo CD or by another ${words.short}, or comment ${code(`${words.command} revert`)} to take the merge back.`,
  ].join("\n");
}
