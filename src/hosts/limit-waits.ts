import type { Clock } from "../core/ports/clock.js";
import type { Log } from "../core/ports/log.js";
import type { HostId } from "../names.js";

/** Shorter waits are not reported. */
export const REPORTED_WAIT_MS = 10_000;

/** `budget`: we stay below the host's known limit. `asked`: the host refused a request and asked us to wait. */
export const WAIT_REASONS = ["budget", "asked"] as const;

/** A write that waits for a code host's limit. */
export interface LimitWait {
  readonly host: HostId;
  /** Whose limit it is: an installation of the GitHub App, or the account of GitLab's token; undefined if not known. */
  readonly account: string | undefined;
  readonly reason: (typeof WAIT_REASONS)[number];
  /** When it may go on, as far as is known. */
  readonly until: Date;
}

/** The writes of this process that wait for more than ten seconds. */
export interface LimitWaits {
  /** Logs a wait and lists it until its `end` is called. */
  begin(wait: LimitWait): ReportedWait;
  current(): readonly LimitWait[];
}

export interface ReportedWait {
  /** Moves the expected end. */
  extend(until: Date): void;
  end(): void;
}

export function createLimitWaits(clock: Clock, log: Log): LimitWaits {
  const waits = new Set<{ wait: LimitWait }>();
  return {
    begin(wait) {
      const entry = { wait };
      waits.add(entry);
      const { host, account, reason, until } = wait;
      const seconds = Math.ceil((until.getTime() - clock.now().getTime()) / 1000);
      log.warn(
        { host, account, reason, until: until.toISOString(), seconds, waiting: waits.size },
        "a write waits for the code host's limit",
      );
      return {
        extend: (later) => void (entry.wait = { ...wait, until: later }),
        end: () => void waits.delete(entry),
      };
    },
    current: () => [...waits].map(({ wait }) => wait),
  };
}
