import type { CommandName, CommandOptions } from "../model/command.js";

export type OptionName = { [N in CommandName]: keyof CommandOptions[N] }[CommandName];

export interface OptionSpec {
  /** What people write, in lower case; help shows the first one. */
  readonly flags: readonly [string, ...string[]];
  /** What follows the flag; undefined for a switch. An option with a value may be given several times. */
  readonly value: string | undefined;
  /** For the documentation. */
  readonly meaning: string;
}

/** Every option of every command. */
export const OPTIONS: Readonly<Record<OptionName, OptionSpec>> = {
  applications: {
    flags: ["-a", "--app"],
    value: "<application>",
    meaning:
      "only this application; may be given several times. `<namespace>/<name>` outside Argo CD's own namespace. Also `-a=<application>`",
  },
  dryRun: {
    flags: ["--dry-run"],
    value: undefined,
    meaning:
      "let Argo CD try it without changing anything. No lock is released, nothing is recorded, and nothing is merged",
  },
  prune: {
    flags: ["--prune"],
    value: undefined,
    meaning: "delete from the cluster what is no longer in the repository. Off unless `defaults.prune` is on",
  },
};
