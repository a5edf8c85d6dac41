import { nearest } from "../../config/nearest.js";
import type { CommandName, CommandOptions } from "../model/command.js";

export type OptionName = { [N in CommandName]: keyof CommandOptions[N] }[CommandName];

interface OptionSpec {
  /** What people write, in lower case; help shows the first one. */
  readonly flags: readonly [string, ...string[]];
  /** What follows the flag; undefined for a switch. */
  readonly value: string | undefined;
  /** Its value is one text, in quotes if it has spaces; others name applications, and may be given several times. */
  readonly isText?: true;
  /** What the option does, for the documentation. */
  readonly meaning: string;
}

/** Every option of every command. */
export const OPTIONS: Readonly<Record<OptionName, OptionSpec>> = {
  applications: {
    flags: ["-a", "--app"],
    value: "<application>",
    meaning:
      "only this application; may be given several times, also as a list (`-a web,api`) and as a pattern (`-a 'team-*'`), which selects among the affected applications, or by a label that Argo CD has of them (`-a label:team=shop`). `<namespace>/<name>` outside Argo CD's own namespace. Also `-a=<application>`. 100 names at most, 10 of them patterns or labels",
  },
  dryRun: {
    flags: ["--dry-run"],
    value: undefined,
    meaning:
      "let Argo CD try it without changing anything. No approval is needed, no lock is released, nothing is recorded, and nothing is merged",
  },
  prune: {
    flags: ["--prune"],
    value: undefined,
    meaning: "delete from the cluster what is no longer in the repository. Off unless `defaults.prune` is on",
  },
  reason: {
    flags: ["--reason"],
    value: '"<why>"',
    isText: true,
    meaning: "shown to everybody who waits: one line, 300 characters at most",
  },
  until: {
    flags: ["--until"],
    value: "<time>",
    isText: true,
    meaning:
      "how long, such as `2h`; or until when: `18:00` today in `server.timezone`, or `2026-03-01T18:00:00Z`. 24 hours without it, 30 days at most",
  },
};

/** The option among `options` that a word stands for, or that it nearly is: an abbreviation, a longer word, a typing error. */
export function optionMeant(
  word: string,
  options: readonly OptionName[],
  how: "exactly" | "nearly",
): OptionName | undefined {
  const plain = lettersOf(word);
  const flags = options.flatMap((option) =>
    OPTIONS[option].flags.map((flag) => ({ option, letters: lettersOf(flag) })),
  );
  const exact = flags.find(({ letters }) => letters === plain);
  if (exact !== undefined || how === "exactly" || plain.length < 3) return exact?.option;
  const long = flags.filter(({ letters }) => letters.length > 2);
  const begun = long.find(({ letters }) => letters.startsWith(plain) || plain.startsWith(letters));
  const near = nearest(
    plain,
    long.map(({ letters }) => letters),
  );
  return begun?.option ?? long.find(({ letters }) => letters === near)?.option;
}

/** A word as people remember it: `--dry-run` and `dryrun` are the same. */
export function lettersOf(word: string): string {
  return word.toLowerCase().replace(/[^a-z0-9]/g, "");
}
