import { pino } from "pino";
import type { CheckResult } from "../config/check.js";
import type { ServerConfig } from "../config/server/server.js";
import type { Log } from "../core/ports/log.js";
import { createTelemetry } from "../observe/telemetry.js";
import { createWorkerPool } from "../workers/worker-pool.js";
import { createAdapters } from "./adapters.js";
import { checkRules } from "./check-rules.js";
import { systemClock } from "./service.js";
import { checkAtStart } from "./start-checks.js";

/** Runs the checks of a start without starting, and returns a line for each finding. */
export async function checkOnline(config: ServerConfig): Promise<CheckResult> {
  const log = pino({ level: "silent" });
  const telemetry = await createTelemetry({ ...config.server, metricsPort: undefined }, [], undefined, log);
  const compute = createWorkerPool();
  const adapters = await createAdapters({ config, telemetry, stores: undefined, compute, clock: systemClock, log });
  const { deployer, stores } = adapters;
  const hosts = Object.values(adapters.hosts);
  const found = new Findings();
  try {
    await checkAtStart({ config, hosts, deployer, ping: () => stores.ping(), log: found });
    // Without Argo CD there is nothing to compare the rules with, and the check has said so.
    if (!found.bad) {
      const applications = await deployer.listApplications(new AbortController().signal);
      found.lines.push(...checkRules(applications, config).map((line) => `warning: ${line}`));
    }
  } finally {
    await Promise.all([adapters.close(), telemetry.close(), compute.close()]);
  }
  return { lines: found.lines, exitCode: found.bad ? 1 : 0 };
}

/** Collects the lines that a start would log. */
class Findings implements Log {
  readonly lines: string[] = [];
  bad = false;

  debug(): void {
    return;
  }

  info(_fields: object, text: string): void {
    this.lines.push(text);
  }

  warn(fields: object, text: string): void {
    this.#add(fields, text);
  }

  error(fields: object, text: string): void {
    this.#add(fields, text);
  }

  child(): Log {
    return this;
  }

  #add(fields: object, text: string): void {
    this.bad = true;
    const { problem, cure } = { problem: "", cure: "", ...fields };
    this.lines.push([text, problem, cure].filter((part) => part !== "").join(": "));
  }
}
