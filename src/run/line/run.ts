import { linksOf } from "../../comments/parts.js";
import { createProgressComment, type ProgressComment } from "../../comments/progress-comment.js";
import { namesOn } from "../../config/repository-names.js";
import { resolveSettings } from "../../config/rules/settings.js";
import type { ServerConfig } from "../../config/server/server.js";
import { describeProblem } from "../../config/yaml-tree.js";
import { COMMANDS, isDeploying } from "../../core/commands/commands.js";
import type { Settled } from "../../core/deploy/settle-records.js";
import { type DetectionCaches, openSnapshot } from "../../core/detect/inputs/snapshot.js";
import type { ApprovalContext } from "../../core/facts/approval.js";
import { type FactSource, readFacts, type ReadFacts, type FactOptions } from "../../core/facts/read-facts.js";
import type { ApplicationName } from "../../core/model/brand.js";
import {
  type ChangeRequest,
  changeRequestKey,
  type ChangeRequestRef,
  changeRequestRef,
} from "../../core/model/change-request.js";
import type { Check } from "../../core/model/check.js";
import { DeployerFailure, HeadMoved, only, safeMessage } from "../../core/model/errors.js";
import { isPlanOf, type Plan } from "../../core/model/plan/plan.js";
import type { Phase, RunNotes, StartedApplication } from "../../core/model/progress.js";
import { type CommandResult, wasRolledBack } from "../../core/model/result.js";
import type { Settings } from "../../core/model/settings.js";
import type { CodeHost, Reaction } from "../../core/ports/code-host.js";
import type { CommandContext, CommandPorts, Reloaded } from "../../core/ports/context.js";
import type { EventQueue, RunTicket } from "../../core/ports/event-queue.js";
import type { LiveFeed, LiveRun } from "../../core/ports/live-feed.js";
import type { RunPorts } from "../../core/ports/reach.js";
import { boundNow } from "../../core/survey/effects.js";
import { withDefinitions, readPolicyFiles } from "../../core/survey/policy-files.js";
import type { HostId } from "../../names.js";
import type { Complaints } from "../around/complaints.js";
import { EnvironmentReports } from "../around/environments.js";
import { hidingSecrets } from "../around/hide-secrets.js";
import type { Outsiders } from "../around/outsiders.js";
import type { Publisher } from "../around/publisher.js";
import type { Answerable, Autoplan, GivenCommand } from "./outcome.js";

/** Drafts and forks are planned on command only. */
export function plansAutomatically(change: ChangeRequest, { defaults }: ServerConfig): boolean {
  return change.state === "open" && !change.fork && (!change.draft || defaults.planDrafts);
}

/** What settings are read from; without a signal the reading is never stopped. */
type SettingsSource = Pick<Run, "config" | "host" | "hosts" | "repositories" | "detection" | "compute" | "patient"> & {
  readonly signal?: AbortSignal;
};

/** Opens the commits of a change request; where the host's ref shows another head, the host is asked for it again. @throws {HeadMoved} */
async function openRepository(change: ChangeRequest, { host, repositories, signal, patient }: SettingsSource) {
  const source = await host.cloneSource(change);
  try {
    return await repositories.open(change, source, { signal, patient });
  } catch (error) {
    if (!(error instanceof HeadMoved)) throw error;
    const { headRevision } = await host.getChangeRequest(change, signal);
    if (headRevision !== change.headRevision) throw error;
    return repositories.open(change, source, { signal, patient, confirmed: true });
  }
}

/** Opens the commits of a change request and reads the settings that hold for it. @throws {HeadMoved} */
export async function openChange(change: ChangeRequest, source: SettingsSource): Promise<Reloaded> {
  const { config, hosts, detection, compute, signal } = source;
  const repository = await openRepository(change, source);
  const reading = { compute, owner: changeRequestKey(change), signal: signal ?? NEVER };
  const snapshot = openSnapshot(repository, detection, reading);
  const files = await readPolicyFiles(change, snapshot, reading);
  const resolved = resolveSettings(config.defaults, config, files, change.host);
  const problems = resolved.repairs ? [] : resolved.problems.map(describeProblem);
  const settings = withDefinitions(resolved.settings, {
    change,
    hosts: Object.values(hosts),
    defaults: config.defaults,
    reading,
  });
  return { settings, problems, snapshot };
}

const NEVER = new AbortController().signal;

/** The author of a run that no command started. */
export const AUTOMATIC = { by: undefined };
export const NOBODY = { id: "", login: "ghost", bot: false };

export function commandContext(
  { by, turn }: Pick<GivenCommand | Autoplan, "by"> & Pick<Autoplan, "turn">,
  change: ChangeRequest,
  { settings, snapshot }: Pick<Reloaded, "settings" | "snapshot">,
  run: Run,
): CommandContext {
  return {
    ...run,
    checks: checksOn(change.host, run.checks),
    deployer: hidingSecrets(run.deployer, { ...run, snapshot, change }),
    change,
    settings,
    snapshot,
    reload: (fresh) => openChange(fresh, run),
    user: by ?? change.author ?? NOBODY,
    automatic: by === undefined,
    turn,
    since: run.attempt.asked && run.attempt.startedAt,
    progress: run.attempt.report,
    takenBefore: run.attempt.takenBefore,
    noteStarted: async (started, skipped, takenOver = []) => {
      await run.ticket.confirm();
      await run.ticket.journal.write({ started, skipped, takenOver });
      run.attempt.deploying(started, change);
    },
  };
}

/** The same checks, but only teams of this host can override them. */
function checksOn(host: HostId, checks: readonly Check[]): readonly Check[] {
  return checks.map((check) => ({ ...check, overridableBy: namesOn(host, check.overridableBy) }));
}

/** The ports and settings that every run gets. */
export interface Dependencies extends CommandPorts, Omit<RunPorts, "host"> {
  readonly config: ServerConfig;
  readonly hosts: Readonly<Partial<Record<HostId, CodeHost>>>;
  readonly detection: DetectionCaches;
  readonly complaints: Complaints;
  readonly outsiders: Outsiders;
  readonly publisher: Publisher;
  /** Gives another change request an event. */
  readonly push: EventQueue["push"];
  /** The id of a run, the same for every attempt at the event with this key. */
  readonly newRunId: (runKey: string) => string;
}

/** One event being handled. */
export interface Run extends Dependencies {
  readonly runId: string;
  readonly host: CodeHost;
  readonly signal: AbortSignal;
  readonly ticket: RunTicket;
  /** The host's delivery that started it. */
  readonly delivery: string;
  /** Nobody waits for it. */
  readonly patient?: boolean;
  readonly attempt: Attempt;
}

/** The facts as a command would read them; while Argo CD does not list its applications, with the namespaces' rules of the plan. */
export function readChangeFacts(
  change: ChangeRequest,
  settings: Settings,
  run: SettingsSource & Omit<FactSource, "change" | "settings" | "snapshot"> & Pick<Run, "deployer" | "log">,
  options?: FactOptions,
): Promise<ReadFacts> {
  const checks = checksOn(change.host, run.checks);
  const { deployer, signal = NEVER, log } = run;
  const asNow = async (plan: Plan | undefined) => {
    if (change.state !== "open" || !isPlanOf(plan, change)) return plan;
    const running = await deployer.listApplications(signal).catch(only(DeployerFailure, () => undefined));
    return running === undefined ? plan : boundNow(plan, running, { settings, deployer, signal, log });
  };
  const source = { ...run, checks, change, settings, snapshot: opensWhenAsked(change, run) };
  return readFacts(source, { ...options, asNow });
}

/** The commits of a change request, opened when they are first asked for: most approvals need none. */
function opensWhenAsked(change: ChangeRequest, run: SettingsSource): ApprovalContext["snapshot"] {
  let opened: ReturnType<typeof openChange> | undefined;
  const open = async () => (await (opened ??= openChange(change, run))).snapshot;
  return {
    commitsBetween: async (from, to) => (await open()).commitsBetween(from, to),
    isCleanMerge: async (commit, of) => (await open()).isCleanMerge(commit, of),
  };
}

interface AttemptParts extends Pick<Run, "runId" | "config" | "host" | "live" | "complaints" | "clock" | "log"> {
  readonly ticket: Pick<RunTicket, "stepAside" | "again">;
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
  /** Locks that an earlier attempt took over. */
  takenBefore: RunNotes["takenOver"];
  startedAt = new Date(0);

  #marks: ReturnType<typeof markCommand> | undefined;
  #comment: ProgressComment | undefined;
  #page: ReturnType<typeof publishProgress> | undefined;
  #background: Promise<void> | undefined;
  #environments: EnvironmentReports | undefined;
  readonly #settled: EnvironmentReports[] = [];

  constructor(private readonly parts: AttemptParts) {}

  /** Marks a person's command as seen. */
  start(asked: Answerable, ref: ChangeRequestRef): void {
    const { host, clock, complaints, log } = this.parts;
    this.asked = asked;
    this.startedAt = clock.now();
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
      : Math.round((clock.now().getTime() - this.startedAt.getTime()) / 1000);
  }

  /** Stores the facts; the first time, shows that the command runs. */
  found(change: ChangeRequest): void {
    if (this.change === undefined) this.#show(change);
    this.change = change;
  }

  /** Shows how far an application is. */
  readonly report = (application: ApplicationName, phase: Phase): void => {
    // Argo CD may take minutes: other change requests need not wait for it.
    if (phase.kind === "running") this.parts.ticket.stepAside();
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
    const startedAt = this.startedAt;
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

/** Reacts with "seen" in the background. A failed reaction does not fail the command. */
function markCommand(
  host: CodeHost,
  change: ChangeRequestRef,
  commentId: string,
  watcher: { set(): void; failed(reaction: Reaction, error: unknown): void },
) {
  const set = async (reaction: Reaction): Promise<void> => {
    try {
      await host.react(change, commentId, reaction);
    } catch (error) {
      watcher.failed(reaction, error);
      return;
    }
    watcher.set();
  };
  const seen = set("seen");
  return {
    /** Adds the final reaction, if any, after the first one. Never throws. */
    async end(reaction: "done" | "failed" | undefined): Promise<void> {
      await seen;
      if (reaction !== undefined) await set(reaction);
    },
  };
}

/** Publishes to the change request's page that a run started, how far it is and that it ended. */
export function publishProgress(
  {
    runId,
    command,
    change,
    startedAt,
  }: Pick<LiveRun, "runId" | "command"> & { change: ChangeRequestRef; startedAt: Date },
  feed: LiveFeed,
) {
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
    report(application: ApplicationName, phase: Phase) {
      phases.set(application, phase);
      publish();
    },
    /** Calling it again does nothing. */
    end() {
      if (ended) return;
      ended = true;
      publish();
    },
  };
}
