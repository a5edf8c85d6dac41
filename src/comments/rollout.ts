import { listed, counted, type HostWords } from "../core/model/host-words.js";
import type { FollowedApplication, Rollout, RolloutState } from "../core/model/rollout.js";
import { minuteText } from "../core/model/time.js";
import { SERVICE } from "../names.js";
import { markerLine } from "./marker.js";
import { applicationLink, code, firstLines, joined, type Links, shortened } from "./parts.js";

const MOST = 50;
const LONGEST_MESSAGE = 500;

/** How far the rollout of a merge is: a sentence, and the state of each application. */
export function rolloutText(rollout: Rollout, links: Links): string {
  const { applications } = rollout;
  const lines = firstLines(
    [...applications]
      .sort((left, right) => ORDER[left.state.kind] - ORDER[right.state.kind])
      .map((one) => lineOf(one, links)),
    MOST,
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
  const length = lengthText(Date.parse(ended) - Date.parse(since));
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

function lengthText(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}

/** Says, in a comment of its own, that something has failed after the merge. */
export function renderRolloutFailure(rollout: Rollout, links: Links, words: HostWords): string {
  const failed = rollout.applications.filter(({ state }) => state.kind === "failed");
  const commit = code(rollout.merged.slice(0, 8));
  return [
    markerLine({ kind: "rollout" }),
    `## ${SERVICE} Failed after the merge`,
    "",
    `❌ This ${words.short} was merged as ${commit}, and ${counted(failed.length, "application")} ${failed.length === 1 ? "has" : "have"} not rolled out:`,
    "",
    ...firstLines(
      failed.map((one) => lineOf(one, links)),
      MOST,
    ),
    ...(rollout.approval === "given" ? [] : ["", unapproved(rollout)]),
    "",
    `Repair it in Argo CD or by another ${words.short}, or comment ${code(`${words.command} revert`)} to take the merge back.`,
  ].join("\n");
}
