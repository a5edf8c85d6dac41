#!/usr/bin/env node
import { readFile } from "node:fs/promises";
import { checkFiles, serverFilesOf } from "./config/check.js";
import { parseCommandLine, type SetupRequest } from "./config/command-line.js";
import { proxiesIn } from "./config/environment.js";
import { loadServerFiles, readVersion } from "./config/files.js";
import { HELP, type HelpTopic } from "./config/help.js";
import { newApiToken } from "./config/server/server-parts.js";
import { loadServerConfig, type ServerConfig } from "./config/server/server.js";
import { describeProblem } from "./config/yaml-tree.js";
import { only, StoredValueUnreadable, StoreUnavailable } from "./core/model/errors.js";
import type { Role } from "./core/model/settings.js";
import type { Log } from "./core/ports/log.js";
import { CannotStart } from "./http/listen.js";
import { SERVICE } from "./names.js";
import { createLogger } from "./observe/log.js";

/** Runs the program. @returns The exit code, or undefined while the service runs. */
async function main(argv: readonly string[]): Promise<number | undefined> {
  const commandLine = parseCommandLine(argv);
  switch (commandLine.kind) {
    case "help":
      print(HELP[commandLine.topic]);
      return 0;
    case "version":
      print(`${SERVICE} ${readVersion()}`);
      return 0;
    case "invalid":
      complain([misuse(commandLine)]);
      return 2;
    case "token":
      print(tokenLines());
      return 0;
    case "setup":
      return setUp(commandLine.request);
    case "check":
    case "set-role":
    case "run": {
      const read = await loadServerFiles(commandLine.files, (path) => readFile(path, "utf8"));
      if (read.kind === "unreadable") {
        complain(read.messages);
        return 1;
      }
      if (commandLine.kind === "run") return run(read.files);
      if (commandLine.kind === "set-role") return setRole(read.files, commandLine);
      const { lines, exitCode } = checkFiles(read.files, process.env);
      (exitCode === 0 ? print : complain)(lines.join("\n").split("\n"));
      return exitCode === 0 && commandLine.online ? checkSystems(read.files) : exitCode;
    }
  }
}

type Files = Parameters<typeof loadServerConfig>[0];

async function checkSystems(files: Files): Promise<number> {
  const loaded = load(serverFilesOf(files));
  if (loaded === undefined || !(await connectAsTold())) return 1;
  const { checkOnline } = await import("./service/check-online.js");
  const { lines, exitCode } = await checkOnline(loaded.config, files);
  (exitCode === 0 ? print : complain)(lines);
  return exitCode;
}

async function setUp(request: SetupRequest): Promise<number> {
  if (!(await connectAsTold())) return 1;
  const [setup, { systemClock }, { text }] = await Promise.all([
    import("./setup/set-up.js"),
    import("./service/service.js"),
    import("node:stream/consumers"),
  ]);
  const stdin = () => text(process.stdin);
  const { lines, exitCode } = await setup.setUp(request, { env: process.env, stdin, print, clock: systemClock });
  (exitCode === 0 ? print : complain)(lines);
  return exitCode;
}

/** Prints what is wrong and returns undefined if the files are not valid. */
function load(files: Files): { readonly config: ServerConfig; readonly warnings: readonly string[] } | undefined {
  const loaded = loadServerConfig(files, process.env);
  if (loaded.kind === "valid") return loaded;
  complain(["the configuration is not valid:", ...loaded.problems.map(describeProblem)]);
  return undefined;
}

/** Uses the environment's proxies. Prints what is wrong and returns false if they are not valid. */
async function connectAsTold(): Promise<boolean> {
  const proxies = proxiesIn(process.env);
  switch (proxies.kind) {
    case "none":
      return true;
    case "proxies":
      (await import("./http/fetch-text.js")).useProxies(proxies);
      return true;
    case "wrong":
      complain([`${proxies.variable}: expected the address of a proxy, such as http://proxy.example.org:3128`]);
      return false;
  }
}

function tokenLines(): readonly string[] {
  const { token, hash } = newApiToken();
  return [
    `token: ${token}`,
    `hash:  ${hash}`,
    "",
    `Give the token to the program, which sends it as "Authorization: Bearer <token>"; it is not shown again.`,
    "Put the hash into svc.yaml, under auth.api_tokens, with a name and a role, and start the service again:",
    `  - { name: ci, hash: "${hash}", role: user }`,
  ];
}

async function setRole(files: Files, asked: { readonly id: string; readonly role: Role }): Promise<number> {
  const loaded = load(files);
  if (loaded === undefined) return 1;
  const service = await import("./service/set-role.js");
  try {
    const { lines, exitCode } = await service.setRole(loaded.config, asked);
    (exitCode === 0 ? print : complain)(lines);
    return exitCode;
  } catch (error) {
    if (!(error instanceof StoreUnavailable) && !(error instanceof StoredValueUnreadable)) throw error;
    complain([error.message]);
    return 1;
  }
}

async function run(files: Files): Promise<number | undefined> {
  const loaded = load(files);
  if (loaded === undefined) return 1;
  if (!(await connectAsTold())) return 1;
  // Loaded on demand, so that checking files does not wait for the service's modules.
  const { startService } = await import("./service/service.js");
  const log = await createLogger(loaded.config.server.logLevel, { terminal: process.stdout.isTTY });
  for (const warning of loaded.warnings) log.warn({}, warning);
  const tracing = await startTraces(log);
  const overrides = tracing === undefined ? {} : { tracer: tracing.tracer };
  const service = await startService(loaded.config, log, overrides).catch(async (error: unknown) => {
    await tracing?.close();
    throw error;
  });
  log.info({ url: service.url, version: readVersion() }, "listening");
  let closing = false;
  const stop = (signal: string) => {
    if (closing) return;
    closing = true;
    log.info({ signal }, "stopping: finishing what runs");
    const close = async () => {
      try {
        await service.close();
      } finally {
        await tracing?.close();
      }
    };
    void close().then(
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

/** Loads OpenTelemetry only if traces are exported. */
async function startTraces(log: Log) {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } = process.env;
  if ((all ?? "") === "" && (traces ?? "") === "") return undefined;
  const { startTracing } = await import("./observe/tracing/start-tracing.js");
  return startTracing(readVersion(), log);
}

function misuse({ message, topic }: { readonly message: string; readonly topic: HelpTopic }): string {
  const command = topic === "program" ? SERVICE : `${SERVICE} ${topic}`;
  return `${SERVICE}: ${message}${message.endsWith("?") ? "" : "."} \`${command} --help\` says what it takes.`;
}

function print(text: string | readonly string[]): void {
  process.stdout.write(`${typeof text === "string" ? text : text.join("\n")}\n`);
}

function complain(lines: readonly string[]): void {
  process.stderr.write(`${lines.join("\n")}\n`);
}

const exitCode = await main(process.argv.slice(2)).catch(
  only(CannotStart, ({ message }) => {
    complain([`cannot start: ${message}`]);
    return 1;
  }),
);
if (exitCode !== undefined) process.exitCode = exitCode;
