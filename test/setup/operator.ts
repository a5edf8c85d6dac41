import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseCommandLine } from "../../src/config/command-line.js";
import { loadServerConfig, type ServerConfig } from "../../src/config/server/server.js";
import type { Clock } from "../../src/core/ports/clock.js";
import { systemClock } from "../../src/service/service.js";
import { setUp } from "../../src/setup/set-up.js";
import { keepLog, registerSecret } from "../secrets-in-logs/kept-logs.js";

interface SetupOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly clock?: Clock;
}

/** Somebody who runs `svc setup` and keeps the secrets in a folder. */
export class Operator {
  private constructor(
    private readonly root: string,
    /** Does not exist before the first run. */
    readonly secrets: string,
  ) {}

  static async create(): Promise<Operator> {
    const root = await mkdtemp(join(tmpdir(), "svc-setup-"));
    return new Operator(root, join(root, "secrets"));
  }

  leave(): Promise<void> {
    return rm(this.root, { recursive: true, force: true });
  }

  /** Runs the command. What it prints grows in `shown`. */
  start(argv: readonly string[], { env = {}, stdin = "", clock = systemClock }: SetupOptions = {}) {
    const commandLine = parseCommandLine(["setup", ...argv, "--secrets", this.secrets]);
    if (commandLine.kind !== "setup") throw new Error(JSON.stringify(commandLine));
    const shown: string[] = [];
    const print = (lines: readonly string[]): void => void shown.push(...lines);
    const ended = setUp(commandLine.request, { env, stdin: () => Promise.resolve(stdin), print, clock }).then(
      async ({ lines, exitCode }) => {
        for (const [name, text] of Object.entries(await this.files())) registerSecret(name, text);
        const output = [...shown, ...lines].join("\n");
        keepLog(`${output}\n`);
        return { exitCode, output };
      },
    );
    return { shown, ended };
  }

  run(
    argv: readonly string[],
    options?: SetupOptions,
  ): Promise<{ readonly exitCode: number; readonly output: string }> {
    return this.start(argv, options).ended;
  }

  /** The texts of the files with secrets, by name; none for what is no file, and empty without the folder. */
  async files(): Promise<Readonly<Record<string, string>>> {
    const names = await readdir(this.secrets).catch(() => []);
    const texts = names.map(
      async (name) => [name, await readFile(join(this.secrets, name), "utf8").catch(() => "")] as const,
    );
    return Object.fromEntries(await Promise.all(texts));
  }

  /** The permission bits of a file. */
  async modeOf(name: string): Promise<number> {
    return (await stat(join(this.secrets, name))).mode & 0o777;
  }

  /** The configuration as svc reads it: the printed section below another one, with the files as variables. */
  async configured(output: string, rest: string, env: Readonly<Record<string, string>> = {}): Promise<ServerConfig> {
    const sections = [...`${output}\n`.matchAll(/^(?:github|gitlab|defaults):\n(?: .*\n)+/gm)];
    const section = sections.map(([text]) => text).join("");
    const variables = { ...(await this.files()), ...env };
    const loaded = loadServerConfig([{ name: "svc.yaml", text: `${rest}\n${section}` }], variables);
    if (loaded.kind === "invalid") throw new Error(`${section}\n${JSON.stringify(loaded.problems)}`);
    return loaded.config;
  }
}
