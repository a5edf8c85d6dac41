import type { Command, CommandName, CommandOptions, DeployingCommand } from "../model/command.js";
import type { CommandResult } from "../model/result.js";
import type { AccessCommand } from "../model/settings.js";
import type { Gate } from "../policy/gates.js";
import { RULES } from "../policy/rules.js";
import type { CommandContext } from "../ports/context.js";
import { hold, release } from "./hold.js";
import { unlock } from "./locks.js";
import type { OptionName } from "./options.js";
import { plan } from "./plan.js";
import { rollback } from "./rollback.js";
import { sync } from "./sync.js";
import { revert, update } from "./update.js";

/** Everything that distinguishes one command from another. */
interface CommandSpec<N extends CommandName> {
  /** What it does, for `svc help` and the documentation. */
  readonly summary: string;
  /** The options that it takes, in the order in which help shows them, and which of them it needs. */
  readonly options: { readonly [O in keyof CommandOptions[N]]: "needed" | true };
  /**
   * `restricted`: `command_access` and the lists of `sync_requirements` decide who may give it. `writers`: whoever can push to
   * the repository, whatever they say.
   */
  readonly access: "anyone" | "writers" | (N extends AccessCommand ? "restricted" : never);
  /** Whether a push or a close stops it before it deploys anything; the other commands run to their end. */
  readonly stoppable?: boolean;
  /** Whether it deploys: a comment then reports its progress, and an interrupted run is resumed. */
  readonly deploys: N extends DeployingCommand["name"] ? true : false;
  /** Whether it is run however late its comment is found: it does no harm then. The others are asked for again. */
  readonly runsLate?: boolean;
  /** Whether the change request's page shows that it is running. */
  readonly shownLive?: boolean;
  /** The result of a command that needs neither the repository nor the stores; undefined for one that has to run. */
  readonly fixedResult?: CommandResult;
  /** Expected outcomes are values; broken things throw. */
  readonly run: (command: Command<N>, context: CommandContext) => Promise<CommandResult>;
}

const HELP = { kind: "help" } as const;

/** The commands in the order of `svc help`. The parser, the help, the documentation and the stored schemas follow it. */
export const COMMANDS: { readonly [N in CommandName]: CommandSpec<N> } = {
  plan: {
    summary: "show what would change, and lock the applications",
    options: { applications: true },
    access: "restricted",
    stoppable: true,
    deploys: false,
    runsLate: true,
    shownLive: true,
    run: plan,
  },
  sync: {
    summary: "deploy the head commit",
    options: { applications: true, dryRun: true, prune: true },
    access: "restricted",
    stoppable: true,
    deploys: true,
    shownLive: true,
    run: sync,
  },
  rollback: {
    summary: "deploy the target branch again",
    options: { applications: true, dryRun: true, prune: true },
    access: "restricted",
    deploys: true,
    shownLive: true,
    run: rollback,
  },
  unlock: {
    summary: "release locks",
    options: { applications: true },
    access: "restricted",
    deploys: false,
    run: unlock,
  },
  update: {
    summary: "bring the target branch into this branch",
    options: {},
    access: "writers",
    deploys: false,
    runsLate: true,
    run: update,
  },
  revert: {
    summary: "open a revert of what was merged here",
    options: {},
    access: "writers",
    deploys: false,
    run: revert,
  },
  hold: {
    summary: "keep applications from being deployed for a time",
    options: { applications: "needed", reason: "needed", until: true },
    access: "writers",
    deploys: false,
    run: hold,
  },
  release: {
    summary: "end what you hold: all of it, or the holds of these applications",
    options: { applications: true },
    access: "writers",
    deploys: false,
    run: release,
  },
  help: {
    summary: "list the commands",
    options: {},
    access: "anyone",
    deploys: false,
    runsLate: true,
    fixedResult: HELP,
    run: () => Promise.resolve(HELP),
  },
};

/** The names of all commands, in the table's order. */
export const COMMAND_NAMES = Object.keys(COMMANDS) as readonly CommandName[];

/** Whether a gate can bar the command. Help, for example, has no gates. */
export function isGatedBy(name: CommandName, gate: Gate): boolean {
  return RULES[gate].commands.some((one) => one === name);
}

export function runCommand<N extends CommandName>(
  command: Command<N>,
  context: CommandContext,
): Promise<CommandResult> {
  return COMMANDS[command.name].run(command, context);
}

export function isDeploying(command: Command): command is DeployingCommand {
  return COMMANDS[command.name].deploys;
}

/** The options of a command, in the order in which help shows them. */
export function optionsOf(name: CommandName): readonly OptionName[] {
  return Object.keys(COMMANDS[name].options) as readonly OptionName[];
}
