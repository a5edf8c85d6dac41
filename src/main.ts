#!/usr/bin/env node
import { readFile } from "node:fs/promises";
import { checkFiles, serverFilesOf } from "./config/check.js";
import { parseCommandLine, USAGE } from "./config/command-line.js";
import { proxiesIn } from "./config/environment.js";
import { loadServerFiles, readVersion } from "./config/files.js";
import { describeProblem } from "./config/problem.js";
import { loadServerConfig } from "./config/server.js";
import type { Log } from "./core/ports/log.js";
import { CannotListen } from "./http/listen.js";
import { SERVICE } from "./names.js";
import { createLogger } from "./observe/log.js";
import type { Tracing } from "./observe/tracing/start-tracing.js";

/** Runs the program; resolves with the exit code, or with undefined while the service runs. */
async function main(argv: readonly string[]): Promise<number | undefined> {
  const commandLine = parseCommandLine(argv);
  switch (commandLine.kind) {
    case "help":
      print(USAGE);
      return 0;
    case "version":
      print(`${SERVICE} ${readVersion()}`);
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
      return exitCode === 0 && commandLine.online ? checkSystems(serverFilesOf(read.files)) : exitCode;
    }
  }
}

async function checkSystems(files: Parameters<typeof loadServerConfig>[0]): Promise<number> {
  const loaded = loadServerConfig(files, process.env);
  if (loaded.kind === "invalid") return 1;
  const { checkOnline } = await import("./service/check-online.js");
  const { lines, exitCode } = await checkOnline(loaded.config);
  (exitCode === 0 ? print : complain)(lines);
  return exitCode;
}

async function run(files: Parameters<typeof loadServerConfig>[0]): Promise<number | undefined> {
  const loaded = loadServerConfig(files, process.env);
  if (loaded.kind === "invalid") {
    complain(["the configuration is not valid:", ...loaded.problems.map(describeProblem)]);
    return 1;
  }
  const proxies = proxiesIn(process.env);
  if (proxies.kind === "wrong") {
    complain([`${proxies.variable}: expected the address of a proxy, such as http://proxy.example.org:3128`]);
    return 1;
  }
  if (proxies.kind === "proxies") (await import("./http/proxy.js")).useProxies(proxies);
  // Loaded here, so that checking files does not wait for everything that the service is made of.
  const { startService } = await import("./service/service.js");
  const log = createLogger(loaded.config.server.logLevel, { terminal: process.stdout.isTTY });
  for (const warning of loaded.warnings) log.warn({}, warning);
  const tracing = await startTraces(log);
  const overrides = tracing === undefined ? {} : { tracer: tracing.tracer };
  const service = await startService(loaded.config, log, overrides).catch(async (error: unknown) => {
    if (!(error instanceof CannotListen)) throw error;
    complain([`cannot start: ${error.message}`]);
    await tracing?.close();
    return undefined;
  });
  if (service === undefined) return 1;
  log.info({ url: service.url, version: readVersion() }, "listening");
  let closing = false;
  const stop = (signal: string) => {
    if (closing) return;
    closing = true;
    log.info({ signal }, "stopping: finishing what runs");
    const stopped = service.close().finally(() => tracing?.close());
    void stopped.then(
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

/** Loads OpenTelemetry only where traces are to go somewhere. */
async function startTraces(log: Log): Promise<Tracing | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } = process.env;
  if ((all ?? "") === "" && (traces ?? "") === "") return undefined;
  const { startTracing } = await import("./observe/tracing/start-tracing.js");
  return startTracing(readVersion(), log);
}

function print(text: string | readonly string[]): void {
  process.stdout.write(`${typeof text === "string" ? text : text.join("\n")}\n`);
}

function complain(lines: readonly string[]): void {
  process.stderr.write(`${lines.join("\n")}\n`);
}

const exitCode = await main(process.argv.slice(2));
if (exitCode !== undefined) process.exitCode = exitCode;
