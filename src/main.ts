#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { checkFiles } from "./config/check.js";
import { parseCommandLine, USAGE } from "./config/command-line.js";
import { loadServerFiles } from "./config/files.js";
import { describeProblem } from "./config/problem.js";
import { loadServerConfig } from "./config/server.js";
import { unavailableSettings } from "./config/unavailable.js";
import { createLogger } from "./log.js";
import { SERVICE } from "./names.js";

/** Runs the program; resolves with the exit code, or with undefined while the service runs. */
async function main(argv: readonly string[]): Promise<number | undefined> {
  const commandLine = parseCommandLine(argv);
  switch (commandLine.kind) {
    case "help":
      print(USAGE);
      return 0;
    case "version":
      print(`${SERVICE} ${version()}`);
      return 0;
    case "invalid":
      complain([commandLine.message, "", USAGE]);
      return 2;
    case "check":
    case "run": {
      const read = await loadServerFiles(commandLine.files, (path) => readFile(path, "utf8"));
      if (read.kind === "unreadable") {
        complain(read.messages);
        return 1;
      }
      if (commandLine.kind === "run") return run(read.files);
      const { lines, exitCode } = checkFiles(read.files, process.env);
      (exitCode === 0 ? print : complain)(lines.join("\n").split("\n"));
      return exitCode;
    }
  }
}

async function run(files: Parameters<typeof loadServerConfig>[0]): Promise<number | undefined> {
  const loaded = loadServerConfig(files, process.env);
  if (loaded.kind === "invalid") {
    complain(["the configuration is not valid:", ...loaded.problems.map(describeProblem)]);
    return 1;
  }
  const unavailable = unavailableSettings(loaded.config);
  if (unavailable.length > 0) {
    complain(unavailable);
    return 1;
  }
  // Loaded here, so that checking files does not wait for everything that the service is made of.
  const { startService } = await import("./service.js");
  const log = createLogger(loaded.config.server.logLevel, { terminal: process.stdout.isTTY });
  for (const warning of loaded.warnings) log.warn({}, warning);
  const service = await startService(loaded.config, log);
  log.info({ url: service.url, version: version() }, "listening");
  let closing = false;
  const stop = (signal: string) => {
    if (closing) return;
    closing = true;
    log.info({ signal }, "stopping: finishing what runs");
    void service.close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, "stopping failed");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  return undefined;
}

function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const found = typeof manifest === "object" && manifest !== null && "version" in manifest ? manifest.version : "";
  return typeof found === "string" ? found : "";
}

function print(text: string | readonly string[]): void {
  process.stdout.write(`${typeof text === "string" ? text : text.join("\n")}\n`);
}

function complain(lines: readonly string[]): void {
  process.stderr.write(`${lines.join("\n")}\n`);
}

const exitCode = await main(process.argv.slice(2));
if (exitCode !== undefined) process.exitCode = exitCode;
