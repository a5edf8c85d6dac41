import { createHash } from "node:crypto";
import type { ServerConfig } from "../../config/server/server.js";
import type { DetectionCaches } from "../../core/detect/inputs/snapshot.js";
import type { AuditLog } from "../../core/ports/audit.js";
import type { CodeHost } from "../../core/ports/code-host.js";
import type { CommandPorts } from "../../core/ports/context.js";
import type { EventQueue, RunTicket } from "../../core/ports/event-queue.js";
import type { LiveFeed } from "../../core/ports/live-feed.js";
import type { Notifications } from "../../core/ports/notifications.js";
import type { Repositories } from "../../core/ports/repositories.js";
import type { HostId } from "../../names.js";
import type { Complaints } from "../around/complaints.js";
import type { Outsiders } from "../around/outsiders.js";
import type { Attempt } from "./attempt.js";

/** The ports and settings that every run gets. */
export interface Dependencies extends CommandPorts {
  readonly config: ServerConfig;
  readonly hosts: Readonly<Partial<Record<HostId, CodeHost>>>;
  readonly repositories: Repositories;
  readonly detection: DetectionCaches;
  readonly audit: AuditLog;
  readonly live: LiveFeed;
  readonly notifications: Notifications;
  readonly complaints: Complaints;
  readonly outsiders: Outsiders;
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
