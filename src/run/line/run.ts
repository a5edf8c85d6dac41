import { createHash } from "node:crypto";
import { resolveSettings } from "../../config/rules/settings.js";
import type { ServerConfig } from "../../config/server/server.js";
import { describeProblem } from "../../config/yaml-tree.js";
import { type DetectionCaches, openSnapshot } from "../../core/detect/inputs/snapshot.js";
import type { ApprovalContext } from "../../core/facts/approval.js";
import { type FactOptions, type FactSource, readFacts, type ReadFacts } from "../../core/facts/read-facts.js";
import { type ChangeRequest, changeRequestKey, type ChangeRequestRef } from "../../core/model/change-request.js";
import type { NextStep } from "../../core/model/next-step.js";
import type { Settings } from "../../core/model/settings.js";
import type { Facts } from "../../core/policy/facts.js";
import { nextStep } from "../../core/policy/next-step.js";
import type { AuditLog } from "../../core/ports/audit.js";
import type { CodeHost } from "../../core/ports/code-host.js";
import type { CommandContext, CommandPorts, Reloaded } from "../../core/ports/context.js";
import type { EventQueue, RunTicket } from "../../core/ports/event-queue.js";
import type { LiveFeed } from "../../core/ports/live-feed.js";
import type { Notifications } from "../../core/ports/notifications.js";
import type { Repositories } from "../../core/ports/repositories.js";
import type { RolloutStore, StatusStore } from "../../core/ports/stores.js";
import { withDefinitions, readPolicyFiles } from "../../core/survey/policy-files.js";
import type { HostId } from "../../names.js";
import type { Complaints } from "../around/complaints.js";
import { hidingSecrets } from "../around/hide-secrets.js";
import type { Outsiders } from "../around/outsiders.js";
import type { Publisher } from "../around/publisher.js";
import type { Autoplan, GivenCommand } from "./asked.js";
import type { Attempt } from "./attempt.js";

/** Drafts and forks are planned on command only. */
export function plansAutomatically(change: ChangeRequest, { defaults }: ServerConfig): boolean {
  return change.state === "open" && !change.fork && (!change.draft || defaults.planDrafts);
}

/** What settings are read from; without a signal the reading is never stopped. */
export type SettingsSource = Pick<Run, "config" | "host" | "hosts" | "repositories" | "detection" | "compute"> & {
  readonly signal?: AbortSignal;
};

/**
 * Opens the commits of a change request and reads the settings that hold for it: policy from the tips of the base
 * branch and the default branch, mappings from these and the head.
 * @throws {HeadMoved}
 */
export async function openChange(
  change: ChangeRequest,
  { config, host, hosts, repositories, detection, compute, signal }: SettingsSource,
): Promise<Reloaded> {
  const repository = await repositories.open(change, await host.cloneSource(change), signal);
  const reading = { compute, owner: changeRequestKey(change), signal: signal ?? NEVER };
  const snapshot = openSnapshot(repository, detection, reading);
  const resolved = resolveSettings(
    config.defaults,
    config,
    await readPolicyFiles(change, snapshot, reading),
    change.host,
  );
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
    deployer: hidingSecrets(run.deployer, { ...run, snapshot, change }),
    change,
    settings,
    snapshot,
    reload: (fresh) => openChange(fresh, run),
    user: by ?? change.author ?? NOBODY,
    automatic: by === undefined,
    turn,
    progress: run.attempt.report,
    noteStarted: async (started, skipped) => {
      await run.ticket.confirm();
      await run.ticket.journal.write({ started, skipped });
      run.attempt.deploying(started, change);
    },
  };
}

/** The ports and settings that every run gets. */
export interface Dependencies extends CommandPorts {
  readonly config: ServerConfig;
  readonly hosts: Readonly<Partial<Record<HostId, CodeHost>>>;
  readonly repositories: Repositories;
  readonly detection: DetectionCaches;
  readonly audit: AuditLog;
  readonly statuses: StatusStore;
  readonly rollouts: RolloutStore;
  readonly live: LiveFeed;
  readonly notifications: Notifications;
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
  readonly attempt: Attempt;
}

/** Derives the run's id from its key, so that an attempt after a crash finds what the earlier one did. */
export function runIdOf(runKey: string): string {
  const digits = createHash("sha256").update(runKey).digest("hex");
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    digits.slice(12, 16),
    digits.slice(16, 20),
    digits.slice(20, 32),
  ].join("-");
}

type ChangeFactSource = SettingsSource & Omit<FactSource, "change" | "settings" | "snapshot">;

export function readChangeFacts(
  change: ChangeRequest,
  settings: Settings,
  run: ChangeFactSource,
  options?: FactOptions,
): Promise<ReadFacts> {
  return readFacts({ ...run, change, settings, snapshot: opensWhenAsked(change, run) }, options);
}

/** The commits of a change request, opened when they are first asked for: most approvals need none. */
function opensWhenAsked(change: ChangeRequest, run: SettingsSource): ApprovalContext["snapshot"] {
  let opened: ReturnType<typeof openChange> | undefined;
  const open = async () => (await (opened ??= openChange(change, run))).snapshot;
  return {
    commitsBetween: async (from, to) => (await open()).commitsBetween(from, to),
    isCleanMerge: async (commit) => (await open()).isCleanMerge(commit),
  };
}

/** The head of a change request's page. */
export interface ChangeSummary extends Pick<Facts, "change" | "approval" | "missingForRules"> {
  /** The stored plan is one of the head. */
  readonly planned: boolean;
  readonly next: NextStep;
}

/**
 * Asks the host for a change request, and reads the repository's file. Undefined if the host is no longer configured.
 * @throws {HostFailure | RepositoryFailure | StoreUnavailable}
 */
export async function readSummary(ref: ChangeRequestRef, source: Dependencies): Promise<ChangeSummary | undefined> {
  const host = source.hosts[ref.host];
  if (host === undefined) return undefined;
  const asking = { ...source, host };
  const change = await host.getChangeRequest(ref);
  const { settings, problems } = await openChange(change, asking);
  const { facts } = await readChangeFacts(change, settings, asking, { problems });
  const { approval, missingForRules, plan } = facts;
  return { change, approval, missingForRules, planned: plan?.current === true, next: nextStep(facts) };
}
