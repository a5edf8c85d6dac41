import { type Logger, pino } from "pino";
import type { ServerConfig } from "../config/server/server.js";
import { SERVICE } from "../names.js";

/** Fields that could carry a secret: our own, and what client libraries attach to their errors. */
const SECRET_PATHS = [
  "token",
  "password",
  "secret",
  "authorization",
  "*.token",
  "*.password",
  "*.secret",
  "*.authorization",
  "*.headers",
  "*.request",
  "*.response",
  "*.options",
  "err.cause.request",
  "err.cause.response",
  "err.cause.options",
  "err.config",
];

/** Creates the service's logger: readable lines in a terminal, JSON otherwise. */
export async function createLogger(level: LogLevel, { terminal }: { readonly terminal: boolean }): Promise<Logger> {
  const options = { name: SERVICE, level, redact: { paths: SECRET_PATHS, censor: "[redacted]" } };
  if (!terminal) return pino(options);
  const { default: pretty } = await import("pino-pretty");
  return pino(options, pretty({ colorize: true, ignore: "pid,hostname,name", translateTime: "HH:MM:ss", sync: true }));
}

type LogLevel = ServerConfig["server"]["logLevel"];
