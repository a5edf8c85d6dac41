import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Programs that test/deploy/install-tools.sh installs. */
export type Tool = "helm" | "kustomize" | "kubeconform" | "conftest" | "actionlint" | "hadolint";

/** What a program said and how it ended. */
export interface ToolResult {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program, with `input` on its standard input.
 * @throws {Error} that says how to install it, when it is neither on the PATH nor where install-tools.sh puts programs.
 */
export function runTool(tool: Tool, args: readonly string[], input = ""): ToolResult {
  const { error, status, stdout, stderr } = spawnSync(toolPath(tool), args, { input, encoding: "utf8" });
  if (error !== undefined) throw error;
  return { ok: status === 0, stdout, stderr };
}

/** Whether the program is on the PATH or where install-tools.sh puts programs. */
export function hasTool(tool: Tool): boolean {
  return candidates(tool).some((each) => existsSync(each));
}

const found = new Map<string, string>();

/** Where the program is. Throws, saying how to install it, when it is nowhere. */
export function toolPath(tool: Tool): string {
  const path = found.get(tool) ?? candidates(tool).find((each) => existsSync(each));
  if (path === undefined) throw new Error(`${tool} is not installed; run test/deploy/install-tools.sh (it needs Go)`);
  found.set(tool, path);
  return path;
}

/** Folder of Kubernetes' JSON Schemas, one folder per version. Throws, saying how to install them, when it is nowhere. */
export function schemasPath(): string {
  const path = goFolders("share/svc-deploy-tools/kubernetes_validate/kubernetes-json-schema").find((each) =>
    existsSync(each),
  );
  if (path === undefined) throw new Error("no schemas of Kubernetes; run test/deploy/install-tools.sh (it needs pip)");
  return path;
}

function candidates(tool: string): readonly string[] {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return [...folders, ...goFolders("bin"), ...goFolders("share/svc-deploy-tools/bin")].map((each) => join(each, tool));
}

/** A folder below the one where `go install` puts programs; none without Go. */
function goFolders(below: string): readonly string[] {
  const { error, stdout } = spawnSync("go", ["env", "GOPATH"], { encoding: "utf8", env: process.env });
  return error === undefined ? [join(stdout.trim(), below)] : [];
}
