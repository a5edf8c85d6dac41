import { COMMANDS, isDeploying } from "../core/commands/commands.js";
import { parseComment } from "../core/commands/parse-command.js";
import type { HostEvent } from "../core/model/event.js";
import type { Answerable, Asked } from "./asked.js";
import { silent } from "./outcome.js";
import type { Run } from "./run.js";

/** Reads what an event asks for. */
export async function ask(event: HostEvent, run: Run): Promise<Asked> {
  switch (event.kind) {
    case "closed":
      return { kind: "close" };
    case "reviewed":
      return { kind: "revisit" };
    case "updated":
      return { kind: "autoplan", command: { name: "plan", applications: [] }, by: undefined };
    case "commented":
      return askedInComment(event, run);
  }
}

/** Parses first: an ordinary comment costs no call. Ignores our own comments and those of other bots. */
async function askedInComment(
  { body, author, commentId, found }: Extract<HostEvent, { kind: "commented" }>,
  { config, host }: Run,
): Promise<Asked> {
  const parsed = parseComment(body);
  if (parsed === undefined) return silent("not-addressed");
  if (author.bot && !config.defaults.allowedBots.includes(author.login)) return silent("not-addressed");
  if (author.id === (await host.self()).id) return silent("not-addressed");
  return parsed.kind === "command"
    ? { kind: "command", command: parsed.command, by: author, commentId, found }
    : { kind: "invalid", command: undefined, by: author };
}

/**
 * Keeps the run's signal only for what a push or a close may stop. A command that resumes a deployment runs to its end:
 * what it started is followed, and the rest is checked again.
 */
export function heedingStops({ command }: Answerable, run: Run): Run {
  const stops = command !== undefined && COMMANDS[command.name].stoppable;
  const resumes = command !== undefined && run.ticket.again && isDeploying(command);
  return stops && !resumes ? run : { ...run, signal: new AbortController().signal };
}
