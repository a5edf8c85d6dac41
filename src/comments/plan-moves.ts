import type { Member } from "../core/model/effect.js";
import { movesOf } from "../core/model/effect.js";
import type { Plan } from "../core/model/plan.js";
import { code, sentence, shortened } from "./markdown.js";

const MAX_MOVES = 20;
const MAX_MOVE = 600;

/** What needs an approval of the head whatever the rules say; empty if nothing does. */
export function movesText({ applications, applicationSets }: Plan): string {
  const members = [
    ...applications.flatMap(({ effect }) => effect.members),
    ...applicationSets.flatMap((set) => set.members),
  ];
  const lines = [...new Set(members.flatMap(linesOf))];
  if (lines.length === 0) return "";
  const more = lines.length - MAX_MOVES;
  return [
    "⚠️ **Needs an approval of this commit, whatever the rules say:**",
    ...lines.slice(0, MAX_MOVES),
    ...(more > 0 ? [`- and ${more} more`] : []),
  ].join("\n");
}

function linesOf(member: Member): readonly string[] {
  return movesOf(member).map(({ what, from, to }) => {
    const change =
      what === "auto-sync" ? "turns auto-sync on" : `${what} moves from ${from || "nothing"} to ${to || "nothing"}`;
    return `- ${code(member.application)}: ${sentence(shortened(change, MAX_MOVE))}`;
  });
}
