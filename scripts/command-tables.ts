import { usageOf } from "../src/comments/refusal.js";
import { COMMAND_NAMES, COMMANDS, isGatedBy } from "../src/core/commands/commands.js";
import { OPTIONS } from "../src/core/commands/options.js";
import type { CommandName } from "../src/core/model/command.js";
import { SERVICE } from "../src/names.js";

/** The commands of docs/commands.md as a Markdown table. */
export function commandTable(): string {
  const rows = COMMAND_NAMES.map((name) => {
    const { summary } = COMMANDS[name];
    return `| \`${usageOf(name, SERVICE)}\` | ${summary} | ${worksOn(name)} |`;
  });
  return ["| Command | What it does | Works on |", "|---|---|---|", ...rows].join("\n");
}

/** The options of docs/commands.md as a Markdown table. */
export function optionTable(): string {
  const rows = Object.values(OPTIONS).map(({ flags, value, meaning }) => {
    const written = flags.map((flag) => (value === undefined ? `\`${flag}\`` : `\`${flag} ${value}\``));
    return `| ${written.join(", ")} | ${meaning} |`;
  });
  return ["| Option | Meaning |", "|---|---|", ...rows].join("\n");
}

function worksOn(name: CommandName): string {
  if (isGatedBy(name, "unmerged")) return "merged ones";
  return isGatedBy(name, "closed") ? "open ones" : "open and closed ones";
}
