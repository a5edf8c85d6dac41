import type { ChangeRequestRef } from "../core/model/change-request.js";
import { type HostWords, referenceTo } from "../core/model/host-words.js";
import type { Plan } from "../core/model/plan.js";
import type { Turn } from "../core/model/result.js";
import { code, codes } from "./markdown.js";
import { markerLine } from "./marker.js";

/** Which awaited locks led to this plan; empty if it holds none of them. */
export function turnLine({ applications, after }: Turn, plan: Plan, words: HostWords): string {
  const ours = new Set(
    plan.applications.filter(({ lock }) => lock.kind === "ours").map(({ application }) => application),
  );
  const taken = applications.filter((name) => ours.has(name));
  return taken.length === 0 ? "" : `**Your turn:** ${released({ applications: taken, after }, plan.change, words)}`;
}

/** Asks for a plan where svc does not plan by itself when the turn comes. */
export function renderTurn(turn: Turn, reader: ChangeRequestRef, words: HostWords): string {
  const it = turn.applications.length === 1 ? "it" : "them";
  const todo = `Comment ${code(`${words.command} plan`)} to lock ${it}, before the next in the queue has its turn in a few minutes.`;
  return `${markerLine({ kind: "result" })}\n**Your turn:** ${released(turn, reader, words)} ${todo}`;
}

function released({ applications, after }: Turn, reader: ChangeRequestRef, words: HostWords): string {
  const verb = applications.length === 1 ? "is" : "are";
  const by = after === undefined ? "" : ` by ${code(referenceTo(after, reader, words))}`;
  return `${codes(applications)} ${verb} no longer locked${by}.`;
}
