import { linksOf } from "../../comments/markdown.js";
import {
  type CommandMarks,
  createProgressComment,
  markCommand,
  type ProgressComment,
} from "../../comments/progress-comment.js";
import type { ServerConfig } from "../../config/server/server.js";
import { COMMANDS, isDeploying } from "../../core/commands/commands.js";
import type { Settled } from "../../core/deploy/settle-records.js";
import type { ApplicationName } from "../../core/model/brand.js";
import { type ChangeRequest, type ChangeRequestRef, changeRequestRef } from "../../core/model/change-request.js";
import { safeMessage } from "../../core/model/errors.js";
import type { Phase, StartedApplication } from "../../core/model/progress.js";
import { type CommandResult, wasRolledBack } from "../../core/model/result.js";
import type { Clock } from "../../core/ports/clock.js";
import type { CodeHost } from "../../core/ports/code-host.js";
import type { RunTicket } from "../../core/ports/event-queue.js";
import type { LiveFeed, LiveRun } from "../../core/ports/live-feed.js";
import type { Log } from "../../core/ports/log.js";
import type { Complaints } from "../around/complaints.js";
import { EnvironmentReports } from "../around/environments.js";
import type { Answerable } from "./asked.js";

interface AttemptParts {
  readonly ticket: Pick<RunTicket, "stepAside" | "again">;
  readonly runId: string;
  readonly config: ServerConfig;
  readonly host: CodeHost;
  readonly live: LiveFeed;
  readonly complaints: Complaints;
  readonly clock: Clock;
  readonly log: Log;
  /** Shows elsewhere how far a deployment is, whenever its comment does. Never throws. */
  readonly alongside: (change: ChangeRequest) => Promise<void>;
}

/** One attempt of a run: its state, and what people see of it before the answer. */
export class Attempt {
  asked: Answerable | undefined;
  change: ChangeRequest | undefined;
  result: CommandResult | undefined;
  /** The applications that this or an earlier attempt started to deploy. */
  started: readonly StartedApplication[] = [];

  #startedAt = new Date(0);
  #marks: CommandMarks | undefined;
  #comment: ProgressComment | undefined;
  #page: ProgressPublisher | undefined;
  #background: Promise<void> | undefined;
  #environments: EnvironmentReports | undefined;
  readonly #settled: EnvironmentReports[] = [];

  constructor(private readonly parts: AttemptParts) {}

  /** Marks a person's command as seen. */
  start(asked: Answerable, ref: ChangeRequestRef): void {
    const { host, clock, complaints, log } = this.parts;
    this.asked = asked;
    this.#startedAt = clock.now();
    // A reaction to an outsider would cost calls that anybody can cause.
    if (asked.kind === "command" && asked.commentId !== undefined && asked.access !== "none") {
      this.#marks = markCommand(host, ref, asked.commentId, {
        set: () => complaints.settle("reaction", host.id),
        failed(reaction, error) {
          if (!complaints.isNew("reaction", host.id, error)) return;
          log.warn({ reaction, problem: safeMessage(error) }, "could not react to a command");
        },
      });
    }
  }

  /** How long it has taken; undefined if an earlier attempt began it. */
  get seconds(): number | undefined {
    const { clock, ticket } = this.parts;
    return this.asked === undefined || ticket.again
      ? undefined
      : Math.round((clock.now().getTime() - this.#startedAt.getTime()) / 1000);
  }

  /** Stores the facts; the first time, shows that the command runs. */
  found(change: ChangeRequest): void {
    if (this.change === undefined) this.#show(change);
    this.change = change;
  }

  /** Shows how far an application is. */
  readonly report = (application: ApplicationName, phase: Phase): void => {
    // A rollout may take minutes: other change requests need not wait for it.
    if (phase.kind === "running" && phase.health !== undefined) this.parts.ticket.stepAside();
    this.#comment?.report(application, phase);
    this.#page?.report(application, phase);
    this.#environments?.report(application, phase);
  };

  /** Shows what is about to be deployed, once it is noted for a later attempt. */
  deploying(started: readonly StartedApplication[], change: ChangeRequest): void {
    const { parts, asked } = this;
    const command = asked?.command;
    this.started = started;
    if (command === undefined || !isDeploying(command) || command.dryRun || !parts.host.showsDeployments) return;
    this.#environments ??= new EnvironmentReports({ ...parts, command: command.name, again: parts.ticket.again });
    this.#environments.expect(started, change, linksOf(change, parts));
  }

  /** Stores the result and shows how the deployments ended. */
  ended(result: CommandResult): void {
    this.result = result;
    if (result.kind !== "synced" && result.kind !== "rolled-back") this.#environments?.abandon();
    else this.#environments?.ended(result.applications.map((one) => ({ ...one, rolledBack: wasRolledBack(one) })));
  }

  /** Shows how syncs of earlier runs ended. */
  settledEarlier(settled: readonly Settled[], change: ChangeRequest): void {
    const { parts } = this;
    if (!parts.host.showsDeployments) return;
    for (const one of settled) {
      const reports = new EnvironmentReports({ ...parts, command: "sync", runId: one.runId, again: true });
      reports.expect([one], change, linksOf(change, parts));
      const kind = one.outcome === "succeeded" ? "succeeded" : "failed";
      reports.ended([{ application: one.application, kind, rolledBack: one.outcome === "rolled-back" }]);
      this.#settled.push(reports);
    }
  }

  /** Resolves once the environments show what was deployed, as far as they can. */
  async shown(): Promise<void> {
    const reports = this.#environments === undefined ? this.#settled : [this.#environments, ...this.#settled];
    await Promise.all(reports.map((one) => one.settle()));
  }

  /** @param work Runs beside the command; must not reject. */
  inBackground(work: Promise<void>): void {
    this.#background = work;
  }

  /** Waits for everything in the background; returns the id of the progress comment, for the answer to replace it. */
  async settle(): Promise<string | undefined> {
    await this.#background;
    return this.#comment?.end();
  }

  /** Marks a person's command as finished. */
  async end(mark: "done" | "failed" | undefined): Promise<void> {
    this.#page?.end();
    await this.#marks?.end(mark);
    await this.shown();
  }

  #show(change: ChangeRequest): void {
    const { asked, parts } = this;
    const command = asked?.command;
    if (command === undefined) return;
    const startedAt = this.#startedAt;
    const onWait = () => parts.ticket.stepAside();
    // Only what deploys takes long enough for a comment.
    if (isDeploying(command)) {
      this.#comment = createProgressComment({
        ...parts,
        change,
        links: linksOf(change, parts),
        command: command.name,
        startedAt,
        onWait,
        alongside: () => parts.alongside(change),
      });
    }
    if (COMMANDS[command.name].shownLive) {
      this.#page = publishProgress({ runId: parts.runId, change, command: command.name, startedAt }, parts.live);
    }
  }
}

interface PublishedRun {
  readonly runId: string;
  readonly command: LiveRun["command"];
  readonly change: ChangeRequestRef;
  readonly startedAt: Date;
}

interface ProgressPublisher {
  report(application: ApplicationName, phase: Phase): void;
  /** Calling it again does nothing. */
  end(): void;
}

/** Publishes to the change request's page that a run started, how far it is and that it ended. */
export function publishProgress(
  { runId, command, change, startedAt }: PublishedRun,
  feed: LiveFeed,
): ProgressPublisher {
  const ref = changeRequestRef(change);
  const phases = new Map<ApplicationName, Phase>();
  let ended = false;
  const publish = () =>
    feed.publish(ref, {
      runId,
      command,
      startedAt: startedAt.toISOString(),
      applications: [...phases].map(([application, phase]) => ({ application, phase })),
      ended,
    });
  publish();
  return {
    report(application, phase) {
      phases.set(application, phase);
      publish();
    },
    end() {
      if (ended) return;
      ended = true;
      publish();
    },
  };
}
