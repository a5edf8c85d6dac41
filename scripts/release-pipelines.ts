import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { parse } from "yaml";
import { ROOT } from "./generated-files.js";

/** How a release pipeline calls a program that needs an account. */
export interface Call {
  readonly program: string;
  readonly args: readonly string[];
  /** A password, or the body of a request. */
  readonly input: string;
}

type Variables = Readonly<Record<string, string>>;

/** What stands for the pipelines' secrets and for what registries answer. */
export const SECRET = "the-secret-of-the-pipeline";
export const DIGEST = `sha256:${"0123456789abcdef".repeat(4)}`;

const PROGRAMS = ["apk", "cosign", "curl", "docker", "gh", "helm", "npm"];
/** Takes minutes, and installs what is there: `npm run release:dry` needs it itself. */
const INSTALLED = ["test/deploy/install-tools.sh"];

/**
 * Runs the scripts of a host's release pipeline in the shells that they have there, GitLab's release in Alpine's, with the working
 * copy as the tagged commit. Programs that need an account are recorded instead; steps of GitHub that are not scripts are left out.
 * @throws {Error} with what a script printed if it fails
 */
export function playPipeline(host: "github" | "gitlab"): readonly Call[] {
  const folder = mkdtempSync(join(tmpdir(), "svc-pipeline-"));
  try {
    const stubs = join(folder, "stubs");
    mkdirSync(stubs);
    for (const program of PROGRAMS) symlinkSync(`${ROOT}scripts/release-stub.sh`, join(stubs, program));
    writeFileSync(join(folder, "calls"), "");
    if (host === "github") playGitHub(folder);
    else playGitLab(folder);
    return recorded(readFileSync(join(folder, "calls"), "utf8"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Workflow {
  readonly env?: Variables;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[] } | undefined>>;
}

interface Step {
  readonly id?: string;
  readonly run?: string;
  readonly env?: Variables;
}

function playGitHub(folder: string): void {
  const values = new Map<string, string>([
    ["github.actor", "ana"],
    ["github.ref_name", tagOfSource()],
    ["github.repository", "Acme/svc"],
    ["github.repository_owner", "Acme"],
    ["github.server_url", "https://github.com"],
    ["github.sha", commit()],
    ["secrets.GITHUB_TOKEN", SECRET],
    ["steps.image.outputs.digest", DIGEST],
    ["steps.pages.outputs.base_url", "https://acme.github.io/svc"],
  ]);
  const filled = (variables: Variables = {}) =>
    Object.entries(variables).map(([name, text]) => {
      const value = text.replace(/\$\{\{ (\S+) \}\}/g, (expression, key: string) => {
        const known = values.get(key);
        if (known === undefined) throw new Error(`the dry run does not know ${expression}`);
        return known;
      });
      return [name, value] as const;
    });
  for (const name of ["release", "pages"]) {
    const { env, jobs } = parse(readFileSync(`${ROOT}.github/workflows/${name}.yml`, "utf8")) as Workflow;
    for (const [key, value] of filled(env)) values.set(`env.${key}`, value);
    for (const step of jobs[name]?.steps ?? []) {
      if (step.run === undefined || INSTALLED.includes(step.run)) continue;
      const outputs = join(folder, "outputs");
      writeFileSync(outputs, "");
      const variables = Object.fromEntries([...filled(env), ...filled(step.env), ["GITHUB_OUTPUT", outputs]]);
      runScript(["bash", "-e"], step.run, variables, folder);
      for (const [, key = "", value = ""] of readFileSync(outputs, "utf8").matchAll(/^([^=\n]+)=(.*)$/gm)) {
        values.set(`steps.${step.id ?? ""}.outputs.${key}`, value);
      }
    }
  }
}

interface GitLabJob {
  readonly image?: string;
  readonly variables?: Variables;
  readonly before_script?: readonly string[];
  readonly script: readonly string[];
}

function playGitLab(folder: string): void {
  const server = "https://gitlab.com";
  const predefined: Variables = {
    GITLAB_CI: "true",
    CI_API_V4_URL: `${server}/api/v4`,
    CI_COMMIT_SHA: commit(),
    CI_COMMIT_TAG: tagOfSource(),
    CI_JOB_TOKEN: SECRET,
    CI_PAGES_URL: "https://acme.gitlab.io/svc",
    CI_PROJECT_ID: "42",
    CI_PROJECT_URL: `${server}/acme/svc`,
    CI_REGISTRY: "registry.gitlab.com",
    CI_REGISTRY_IMAGE: "registry.gitlab.com/acme/svc",
    CI_REGISTRY_PASSWORD: SECRET,
    CI_REGISTRY_USER: "gitlab-ci-token",
  };
  const pipeline = parse(readFileSync(`${ROOT}.gitlab-ci.yml`, "utf8")) as Readonly<Record<string, GitLabJob>>;
  for (const name of ["release", "pages"]) {
    const job = pipeline[name];
    if (job === undefined) throw new Error(`.gitlab-ci.yml has no job ${name}`);
    const own = Object.entries(job.variables ?? {}).map(
      ([key, text]) => [key, text.replace(/\$(\w+)/g, (_, other: string) => predefined[other] ?? "")] as const,
    );
    const script = [...(job.before_script ?? []), ...job.script].join("\n");
    // The runner takes bash where the image has it, as those on Debian do.
    const shell = job.image?.includes("alpine") === true ? ["busybox", "sh", "-e"] : ["bash", "-e"];
    runScript(shell, script, { ...predefined, ...Object.fromEntries(own) }, folder);
  }
  // What the job hands to Pages.
  rmSync(`${ROOT}public`, { recursive: true });
}

/** The programs of the shell come before those of this machine, and the stubs before both. */
function runScript([shell = "", ...options]: readonly string[], script: string, env: Variables, folder: string): void {
  const file = join(folder, "script");
  writeFileSync(file, script);
  const path = process.env.PATH ?? "";
  const applets = join(folder, "applets");
  if (shell === "busybox") {
    mkdirSync(applets, { recursive: true });
    const installed = spawnSync(shell, ["--install", "-s", applets], { encoding: "utf8" });
    if (installed.error !== undefined) {
      throw new Error("busybox is not installed; the package busybox of Debian has it");
    }
  }
  const own = shell === "busybox" ? [applets] : [];
  const { status, stdout, stderr } = spawnSync(shell, [...options, file], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    env: {
      HOME: process.env.HOME ?? "",
      PATH: [join(folder, "stubs"), ...own, path].join(delimiter),
      SVC_DRY_CALLS: join(folder, "calls"),
      SVC_DRY_DIGEST: DIGEST,
      SVC_DRY_PATH: path,
      TMPDIR: folder,
      ...env,
    },
  });
  if (status !== 0) throw new Error(`this script of the pipeline failed:\n${script}\n${stdout}${stderr}`);
}

function recorded(text: string): readonly Call[] {
  const parts = text.split("\0").slice(0, -1);
  const calls: Call[] = [];
  while (parts.length > 0) {
    const [program = "", input = "", count] = parts.splice(0, 3);
    calls.push({ program, input, args: parts.splice(0, Number(count)) });
  }
  return calls;
}

function tagOfSource(): string {
  const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as { readonly version: string };
  return `v${version}`;
}

function commit(): string {
  return spawnSync("git", ["rev-parse", "HEAD"], { cwd: ROOT, encoding: "utf8" }).stdout.trim();
}
