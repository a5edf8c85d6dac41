import type { ServerConfig } from "./config/server-config.js";
import type { AuditLog } from "./core/audit.js";
import type { Command } from "./core/command.js";
import type { CommandPorts } from "./core/commands/context.js";
import type { CodeHost, Repositories } from "./core/ports.js";
import type { User } from "./core/user.js";
import type { HostId } from "./names.js";

/** What the way of an event needs of the service. */
export interface Dependencies extends CommandPorts {
  readonly config: ServerConfig;
  readonly hosts: Readonly<Partial<Record<HostId, CodeHost>>>;
  readonly repositories: Repositories;
  readonly audit: AuditLog;
  /** A new id per run. */
  readonly newRun: () => string;
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
  readonly run: string;
  /** The host's delivery that began it. */
  readonly delivery: string;
}
