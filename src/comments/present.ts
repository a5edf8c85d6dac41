import type { ApplicationName } from "../core/model/brand.js";
import type { ChangeRequest } from "../core/model/change-request.js";
import type { Deployment } from "../core/model/deployment.js";
import { code, codes } from "./markdown.js";
import { capitalised, counted, joined } from "./parts.js";

/** What became of a plan since, apart from its locks. */
export interface Present {
  readonly state: ChangeRequest["state"];
  /** Who approved the head, where an approval is required. */
  readonly approvers: readonly string[];
  /** Its deployments of this head, failed ones too. */
  readonly deployed: readonly Deployed[];
}

type Deployed = Pick<Deployment, "application" | "outcome" | "user" | "timestamp" | "seconds">;

/** The line below the verdict that says what has happened since the plan; empty if nothing has. */
export function presentLine({ state, approvers, deployed }: Present, applications: readonly ApplicationName[]): string {
  const done = deployed.filter(({ outcome }) => outcome === "succeeded");
  const [only] = deployed;
  const deployments =
    applications.length === 1 && only !== undefined
      ? deploymentText(only)
      : done.length === 0
        ? ""
        : `✅ ${done.length} of ${counted(applications.length, "application")} ${togetherText(done)}`;
  const approved = state !== "open" || approvers.length === 0 ? "" : `approved by ${codes(approvers)}`;
  return capitalised(joined([STATES[state], deployments, approved], " · "));
}

/** By whom and when, if that is the same for all. */
function togetherText([first, ...others]: readonly Deployed[]): string {
  const text = first === undefined ? "" : deploymentText(first);
  return others.every((one) => deploymentText(one) === text) ? text.replace(/^\S+ /, "") : "deployed";
}

const STATES = { open: "", merged: "**Merged**", closed: "**Closed without a merge**" } as const;

/** What was deployed of an application, by whom, when and in how long; undefined if nothing was. */
export function deployedText(application: ApplicationName, { deployed }: Present): string | undefined {
  const found = deployed.find((one) => one.application === application);
  return found && deploymentText(found);
}

function deploymentText({ outcome, user, timestamp, seconds }: Deployed): string {
  const when = `by ${code(user)}, ${timestamp.slice(0, 10)} ${timestamp.slice(11, 16)} UTC`;
  switch (outcome) {
    case "succeeded":
      return `✅ deployed ${when}${seconds === undefined ? "" : `, in ${lengthText(seconds)}`}`;
    case "failed":
      return `❌ its sync failed, ${when}`;
    case "started":
      return `⏳ its sync began, ${when}`;
    case "unknown":
      return `❓ how its sync ended is not known, ${when}`;
  }
}

function lengthText(seconds: number): string {
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}
