import type { HostId } from "../../src/names.js";

/** What our sentences call a change request; replies that the specification quotes say "PR" on every host. */
export const SHORT: Readonly<Record<HostId, string>> = { hosta: "PR", hostb: "MR" };
export const SIGIL: Readonly<Record<HostId, string>> = { hosta: "#", hostb: "!" };

const QUOTED: readonly RegExp[] = [
  /Locked by PR #\d+ \([^)]*\)/g,
  /\*\*Status:\*\* Locked by this PR$/gm,
  /No applications are locked by this PR\.(?: Run the plan command first\.)?/g,
  /PR must be approved before sync\b/g,
  /PR has merge conflicts, please resolve before syncing/g,
];

const OF_OTHERS: Readonly<Record<HostId, RegExp>> = {
  hosta: /\bMRs?\b|\bmerge requests?\b|(?<= )!\u200b?\d+/gi,
  hostb: /\bPRs?\b|\bpull requests?\b|(?<= )#\u200b?\d+/gi,
};

/** Lines of our comments that use another host's words; what people wrote stands in fences and code spans. */
export function wordsOfOthers(host: HostId, texts: readonly string[]): readonly string[] {
  return texts.flatMap((text) => {
    const prose = text.replace(/^(`{3,})[^]*?^\1$/gm, "").replace(/`[^`\n]*`/g, "");
    const ours = QUOTED.reduce((rest, quoted) => rest.replace(quoted, ""), prose);
    return ours.split("\n").filter((line) => line.search(OF_OTHERS[host]) >= 0);
  });
}
