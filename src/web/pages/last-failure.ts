import type { AuditRecord } from "../../core/ports/audit.js";
import { activityWords, outcomeWords } from "./activity-words.js";
import { shownTime, type ShownTime, whoName } from "./shown.js";

/** The last failure of a change request that nothing has made good since. */
export interface LastFailure {
  readonly at: ShownTime;
  readonly who: string;
  /** `sync failed`. */
  readonly what: string;
  /** A clause, if it concerns no single application; untrusted. */
  readonly why: string | undefined;
  readonly applications: readonly {
    readonly application: string;
    readonly outcome: string;
    /** What Argo CD said; untrusted. Undefined for those who see no diffs. */
    readonly message: string | undefined;
  }[];
}

export interface FailureOptions {
  readonly withDiff: boolean;
  readonly now: Date;
}

const FAILED: ReadonlySet<string> = new Set(["failed", "rejected", "unknown"]);

/** Looks through the newest entries of one change request, newest first. */
export function lastFailure(entries: readonly AuditRecord[], options: FailureOptions): LastFailure | undefined {
  const commands = new Set<string | undefined>();
  const deployed = new Set<string>();
  for (const entry of entries) {
    const { action, applications, command, reason } = entry;
    switch (action) {
      case "merged":
      case "closed":
        return undefined;
      case "failed":
        if (!commands.has(command)) return shown(entry, [], options);
        break;
      case "synced":
      case "rolled-back": {
        if (reason !== undefined) break; // A dry run proves nothing about the next attempt.
        const failed = applications.filter((one) => FAILED.has(one.outcome) && !deployed.has(one.application));
        if (failed.length > 0) return shown(entry, failed, options);
        commands.add(command);
        for (const { application } of applications) deployed.add(application);
        break;
      }
      case "refused":
        if (activityWords(entry).badge === "merge refused") return shown(entry, [], options);
        break;
      case "planned":
      case "unlocked":
        commands.add(command);
        break;
      case "force-unlocked":
        break;
    }
  }
  return undefined;
}

function shown(
  entry: AuditRecord,
  failed: AuditRecord["applications"],
  { withDiff, now }: FailureOptions,
): LastFailure {
  const { badge, sentence } = activityWords(entry);
  return {
    at: shownTime(entry.at, now),
    who: whoName(entry.who),
    what: badge,
    why: sentence,
    applications: failed.map((one) => ({
      application: one.application,
      outcome: outcomeWords(one, entry),
      message: withDiff ? one.message : undefined,
    })),
  };
}
