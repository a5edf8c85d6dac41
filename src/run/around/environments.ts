import { applicationAddress, type Links } from "../../comments/parts.js";
import { undoIdOf } from "../../core/deploy/settle.js";
import type { ApplicationName } from "../../core/model/brand.js";
import type { ChangeRequest } from "../../core/model/change-request.js";
import { HostFailure, type HostFailureReason, LeaseLost, safeMessage } from "../../core/model/errors.js";
import type { Phase, StartedApplication } from "../../core/model/progress.js";
import type { ApplicationSync } from "../../core/model/result.js";
import type { Clock } from "../../core/ports/clock.js";
import type { CodeHost, DeploymentState, ShownDeployment } from "../../core/ports/code-host.js";
import type { Log } from "../../core/ports/log.js";
import type { Complaints } from "./complaints.js";

interface EnvironmentParts {
  readonly host: CodeHost;
  readonly command: ShownDeployment["command"];
  readonly runId: string;
  /** An earlier attempt may have shown something already. */
  readonly again: boolean;
  readonly complaints: Complaints;
  readonly clock: Clock;
  readonly log: Log;
}

interface Entry {
  readonly change: ChangeRequest;
  readonly shown: ShownDeployment;
  begun: boolean;
  outcome: Ended | undefined;
  known: { readonly id: string | undefined; readonly state: DeploymentState } | undefined;
  /** Whether the host may show something else than `known`. */
  uncertain: boolean;
}

type Ended = Exclude<DeploymentState, "running">;

/** Milliseconds before each further try to show how a deployment ended. */
const PAUSES = [1_000, 5_000, 15_000];
const PASSING: readonly HostFailureReason[] = ["unreachable", "failed"];

/** Shows what a command deploys in the host's environments, beside the command; after a first failure, which is logged, no more. */
export class EnvironmentReports {
  readonly #entries = new Map<ApplicationName, Entry>();
  #work: Promise<void> = Promise.resolve();
  /** Whether starts are no longer shown, only ends. */
  #late = false;
  #stopped = false;

  constructor(private readonly parts: EnvironmentParts) {}

  /** Prepares to show deployments that this or an earlier attempt is about to start. */
  expect(
    started: readonly Pick<StartedApplication, "application" | "revision" | "destination">[],
    change: ChangeRequest,
    links: Links,
  ): void {
    const { command, runId, again } = this.parts;
    const result = links.page ?? change.webUrl;
    for (const { application, revision, destination } of started) {
      if (this.#entries.has(application)) continue;
      const leads = { application: applicationAddress(application, links), result };
      const shown = { command, application, destination, revision, runId, links: leads };
      this.#entries.set(application, {
        change,
        shown,
        begun: false,
        outcome: undefined,
        known: undefined,
        uncertain: again,
      });
    }
  }

  report(application: ApplicationName, phase: Phase): void {
    const entry = this.#entries.get(application);
    if (entry === undefined) return;
    switch (phase.kind) {
      case "waiting":
        return;
      case "running":
        if (entry.begun) return;
        entry.begun = true;
        this.#queue(() => this.#begin(entry));
        return;
      case "ended":
        if (entry.begun && phase.outcome !== "unknown") this.#end(entry, phase.outcome, "in any case");
        return;
    }
  }

  /** Shows how each deployment ended. One that still runs in Argo CD stays as it is shown. */
  ended(applications: readonly (Pick<ApplicationSync, "application" | "kind"> & { rolledBack: boolean })[]): void {
    for (const { application, kind, rolledBack } of applications) {
      const entry = this.#entries.get(application);
      if (entry === undefined) continue;
      switch (kind) {
        case "succeeded":
        case "failed":
          this.#end(entry, kind, "in any case");
          if (rolledBack) this.#end(this.#rollbackOf(entry), "succeeded", "in any case");
          break;
        case "rejected":
        case "unknown":
          this.#end(entry, "failed", "if shown");
          break;
        case "running":
          break;
      }
    }
  }

  /** Nobody will find out how it ended. */
  abandon(): void {
    for (const entry of this.#entries.values()) this.#end(entry, "failed", "if shown");
  }

  /** Resolves once everything that can be shown is shown. */
  async settle(): Promise<void> {
    for (let seen: unknown; seen !== this.#work;) {
      seen = this.#work;
      await this.#work;
    }
  }

  /** The automatic rollback that followed a deployment. */
  #rollbackOf({ change, shown }: Entry): Entry {
    const { baseRevision: revision } = change;
    const rollback = { ...shown, command: "rollback", revision, runId: undoIdOf(shown.runId) } as const;
    return { change, shown: rollback, begun: false, outcome: undefined, known: undefined, uncertain: this.parts.again };
  }

  #end(entry: Entry, outcome: Ended, when: "in any case" | "if shown"): void {
    if (entry.outcome === outcome) return;
    entry.outcome = outcome;
    this.#queue(() => this.#finish(entry, outcome, when));
  }

  #queue(task: () => Promise<void>): void {
    this.#work = this.#work.then(async () => {
      if (this.#stopped) return;
      await task();
    });
  }

  /** What has ended meanwhile is shown as such at once. */
  async #begin(entry: Entry): Promise<void> {
    if (entry.outcome !== undefined || this.#late) return;
    try {
      await this.#show(entry, "running");
    } catch (error) {
      this.#late = isPassing(error);
      this.#failed(entry, error);
    }
  }

  async #finish(entry: Entry, outcome: Ended, when: "in any case" | "if shown"): Promise<void> {
    for (const pause of [...PAUSES, undefined]) {
      try {
        await this.#lookUp(entry);
        if (entry.known === undefined && when === "if shown") return;
        if (entry.known?.state !== outcome) await this.#show(entry, outcome);
        return;
      } catch (error) {
        const passing = isPassing(error);
        if (!passing || pause === undefined) {
          // The other applications would wait as long for a host that is away.
          this.#stopped ||= passing;
          this.#failed(entry, error);
          return;
        }
        await this.parts.clock.sleep(pause);
      }
    }
  }

  async #lookUp(entry: Entry): Promise<void> {
    if (!entry.uncertain) return;
    const found = await this.parts.host.shownDeployment(entry.change, entry.shown);
    entry.uncertain = false;
    entry.known = found;
  }

  async #show(entry: Entry, state: DeploymentState): Promise<void> {
    await this.#lookUp(entry);
    // It runs, as an earlier attempt has shown.
    if (state === "running" && entry.known !== undefined) return;
    entry.uncertain = true;
    const id = await this.parts.host.showDeployment(entry.change, entry.shown, state, entry.known?.id);
    entry.uncertain = false;
    entry.known = { id, state };
    this.parts.complaints.settle("environment", this.parts.host.id);
  }

  #failed({ shown: { application } }: Entry, error: unknown): void {
    // Another replica goes on with the command, and shows the rest.
    if (error instanceof LeaseLost) this.#stopped = true;
    else {
      const refused: readonly HostFailureReason[] = ["forbidden", "not-found", "unauthenticated"];
      this.#stopped ||= error instanceof HostFailure && refused.includes(error.reason);
      const { complaints, host, log } = this.parts;
      if (!complaints.isNew("environment", host.id, error)) return;
      log.warn({ application, problem: safeMessage(error) }, "could not show a deployment in its environment");
    }
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof HostFailure && PASSING.includes(error.reason);
}
