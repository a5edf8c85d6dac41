import { commitStatusOf } from "../../src/comments/commit-status.js";
import { nextStepClause, nextStepSentence } from "../../src/comments/next-step-words.js";
import { renderResult } from "../../src/comments/render.js";
import type { Facts } from "../../src/core/policy/facts.js";
import type { Bar, Judged } from "../../src/core/policy/gates.js";
import { judge, type Judgement } from "../../src/core/policy/judge.js";
import { adviceAfter, nextStep } from "../../src/core/policy/next-step.js";
import { HOST_TITLES } from "../../src/names.js";

const COMMANDS: readonly Judged[] = ["plan", "sync", "rollback", "unlock", "merge"];

/** What svc makes of a state, as people read it: what each command is answered, and what every other surface says. */
export function textOfState(facts: Facts): string {
  const { change, words } = facts;
  const step = nextStep(facts);
  const status = commitStatusOf({ kind: "planned", facts }, words);
  return [
    `# ${headingOf(facts)}`,
    ...COMMANDS.map((command) => judgementText(judgedAs(command, facts), facts)),
    `## Next step\n\n${nextStepSentence(step, change, words, linksOf(facts))}`,
    `## Commit status\n\n${status.state}: ${status.description}`,
    `## Verdict\n\n… · ${nextStepClause(step, change, words, linksOf(facts))}`,
    "",
  ].join("\n\n");
}

/** The checks of a sync are judged once they have been looked at, as the sync does. */
export function judgedAs(command: Judged, facts: Facts): Judgement {
  const looked = facts.applications.every(({ now }) => now === undefined || now.checks !== undefined);
  return judge(command, facts, (gate) => command !== "sync" || gate !== "checks" || looked);
}

function headingOf({ change, asker }: Facts): string {
  const { host, number, headRevision } = change;
  const whose = asker === undefined ? "nobody asked" : `${asker.login} asked for ${listed(asker.selected)}`;
  return `${HOST_TITLES[host]} ${number} at ${headRevision.slice(0, 8)}, ${whose}`;
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "nothing" : names.join(", ");
}

function judgementText(judged: Judgement, facts: Facts): string {
  const { command, whole, applications, refusal } = judged;
  const lines = [
    ...whole.map((bar) => `- everything: ${barText(bar, facts)}`),
    ...applications.flatMap(({ application, bars }) => bars.map((bar) => `- ${application}: ${barText(bar, facts)}`)),
  ];
  if (refusal === undefined) return `## ${command}: allowed\n\n${listed(applications.map((one) => one.application))}`;
  return [`## ${command}: ${refusal.reason}`, lines.join("\n"), answerText(judged, facts)]
    .filter((text) => text !== "")
    .join("\n\n");
}

function barText({ gate, application, why, untold }: Bar, { applications, others }: Facts): string {
  const isNamed = [...applications, ...others].some((one) => one.application === application);
  const about = application === undefined || isNamed || application === "*" ? "" : `${application}: `;
  return `[${gate}]${untold ? " cannot tell" : ""} ${about}${why}`;
}

/** The first line of the answer to a refused command. A merge by svc is not asked for. */
function answerText({ command, refusal }: Judgement, facts: Facts): string {
  if (command === "merge" || refusal === undefined) return "";
  const { change, words } = facts;
  const result = { kind: "refused", refusal, next: nextStep(facts) } as const;
  const [comment = ""] = renderResult(result, {
    change,
    words,
    links: linksOf(facts),
    comments: "all",
    advice: adviceAfter(result, facts),
  });
  const line = comment.split("\n").find((one) => one !== "" && !one.startsWith("<!--"));
  return `> ${line}`;
}

function linksOf({ change }: Facts) {
  const head = `https://host.example.com/${change.repository}/commit/${change.headRevision}`;
  return {
    deployer: "https://argocd.example.com",
    head,
    page: undefined,
    hosts: { hosta: undefined, hostb: undefined },
  };
}
