import { createHash } from "node:crypto";
import type { ServerConfig } from "../config/server-config.js";
import type { Command } from "../core/model/command.js";
import type { User } from "../core/model/user.js";
import type { AuditLog } from "../core/ports/audit.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { CommandPorts } from "../core/ports/context.js";
import type { RunTicket } from "../core/ports/event-queue.js";
import type { LiveFeed } from "../core/ports/live-feed.js";
import type { Repositories } from "../core/ports/repositories.js";
import type { HostId } from "../names.js";

/** What the way of an event needs of the service. */
export interface Dependencies extends CommandPorts {
  readonly config: ServerConfig;
  readonly hosts: Readonly<Partial<Record<HostId, CodeHost>>>;
  readonly repositories: Repositories;
  readonly audit: AuditLog;
  /** Tells the open pages how far a command is. */
  readonly live: LiveFeed;
  /** The id of a run, the same for every run of one delivery. */
  readonly newRun: (delivery: string) => string;
}

/** A command that somebody, or an event, asked for. */
export interface Asked {
  readonly command: Command | "not-a-command";
  /** Undefined for an automatic plan. */
  readonly by: User | undefined;
  /** The comment that the command stands in; undefined for an automatic plan. */
  readonly commentId: string | undefined;
}

/** One event on its way. */
export interface Run extends Dependencies {
  readonly host: CodeHost;
  readonly signal: AbortSignal;
  readonly ticket: RunTicket;
  readonly run: string;
  /** The host's delivery that began it. */
  readonly delivery: string;
}

/** The id of every run of one delivery: a run that begins anew after a crash finds by it what the first one did. */
export function runIdOf(delivery: string): string {
  const digits = createHash("sha256").update(delivery).digest("hex");
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    digits.slice(12, 16),
    digits.slice(16, 20),
    digits.slice(20, 32),
  ].join("-");
}
