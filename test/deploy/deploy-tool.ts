import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** What a program said and how it ended. */
export interface ToolResult {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** The programs that `test/deploy/install-tools.sh` builds. */
export type Tool = "helm" | "kustomize" | "kubeconform";

/**
 * Runs Helm or Kustomize, with `input` on its standard input.
 * @throws {Error} that says how to install it, when it is neither on the PATH nor where `go install` puts programs.
 */
export function runTool(tool: "helm" | "kustomize", args: readonly string[], input = ""): ToolResult {
  const { error, status, stdout, stderr } = spawnSync(toolPath(tool), args, { input, encoding: "utf8" });
  if (error !== undefined) throw error;
  return { ok: status === 0, stdout, stderr };
}

const found = new Map<string, string>();

/** Where the program is. Throws, saying how to install it, when it is nowhere. */
export function toolPath(tool: Tool): string {
  const path = found.get(tool) ?? candidates(tool).find((each) => existsSync(each));
  if (path === undefined) throw new Error(`${tool} is not installed; run test/deploy/install-tools.sh (it needs Go)`);
  found.set(tool, path);
  return path;
}

function candidates(tool: string): readonly string[] {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return [...folders, ...goPrograms()].map((folder) => join(folder, tool));
}

/** Where `go install` puts programs; nowhere without Go. */
function goPrograms(): readonly string[] {
  const { error, stdout } = spawnSync("go", ["env", "GOPATH"], { encoding: "utf8", env: process.env });
  return error === undefined ? [join(stdout.trim(), "bin")] : [];
}
