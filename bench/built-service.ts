import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** A child process, with the first match in its output. */
export interface Program {
  readonly child: ChildProcess;
  readonly url: string;
  /** Sends SIGTERM and removes the process's files. */
  stop(): Promise<void>;
}

/** With which Node.js, which options of it, and which variables beside those of this process. */
export interface StartOptions {
  readonly node?: string;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the built service (`npm run build`) as users do. `build` is the folder of the build, of the repository or absolute. */
export async function startBuiltService(sections: object, build = "dist", options?: StartOptions): Promise<Program> {
  const folder = await mkdtemp(join(tmpdir(), "svc-bench-"));
  const file = join(folder, "svc.yaml");
  await writeFile(file, stringify(sections));
  const started = await startProgram([join(build, "main.js"), "-c", file], /"url":"(http[^"]+)"/, options);
  return {
    ...started,
    async stop() {
      await started.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Starts a Node program. `printed` finds its address in its output. */
export async function startProgram(
  args: readonly string[],
  printed: RegExp,
  { node = process.execPath, flags = [], env = {} }: StartOptions = {},
): Promise<Program> {
  const environment = { ...process.env, ...env };
  const child = spawn(node, [...flags, ...args], { cwd: ROOT, env: environment, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`${args.join(" ")} exited with ${String(code)}: ${output}`)));
    child.stdout.on("data", (chunk: Buffer) => {
      if (output.length > 100_000) return;
      output += chunk.toString();
      const found = printed.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  return {
    child,
    url,
    async stop() {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** What the image sets for the service: variables, and options of Node.js. */
export async function imageSettings(): Promise<Required<Pick<StartOptions, "env" | "flags">>> {
  const dockerfile = await readFile(join(ROOT, "Dockerfile"), "utf8");
  const [, settings = ""] = /^ENV ((?:.*\\\n)*.*)$/m.exec(dockerfile) ?? [];
  const [, command = ""] = /^ENTRYPOINT \[(.*)\]$/m.exec(dockerfile) ?? [];
  return {
    env: Object.fromEntries([...settings.matchAll(/(\w+)=(\S+)/g)].map(([, name = "", value = ""]) => [name, value])),
    flags: [...command.matchAll(/"(--[^"]+)"/g)].map(([, flag = ""]) => flag),
  };
}

/** Memory of a process in MiB: current (`VmRSS`) and peak (`VmHWM`). proc_pid_status(5) */
export async function memoryOf(pid: number): Promise<{ readonly now: number; readonly highest: number }> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const value = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? Number.NaN);
  return { now: value("VmRSS") / 1024, highest: value("VmHWM") / 1024 };
}

/** CPU seconds of a process, user and system. proc_pid_stat(5) */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  // The name, in parentheses, may contain spaces. utime and stime are fields 14 and 15, in hundredths of a second.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
