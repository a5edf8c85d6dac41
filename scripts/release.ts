import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { hasTool, runTool, toolPath } from "../test/deploy/deploy-tool.js";
import { ROOT } from "./generated-files.js";
import { packageChart } from "./release-chart.js";
import { comingNotes, releaseNotes, withAbsoluteLinks } from "./release-notes.js";
import { playPipeline } from "./release-pipelines.js";

const FOLDER = `${ROOT}release`;
const { values } = parseArgs({
  options: {
    tag: { type: "string" },
    source: { type: "string" },
    image: { type: "string" },
    digest: { type: "string" },
    dry: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const HELP = `Usage: npm run release:dry
       npm run release -- --source URL [--tag vX.Y.Z] [--image IMAGE --digest sha256:...]

Makes everything of a release that needs no registry, into release/. The dry run takes the coming notes, and first runs the
scripts of both hosts' release pipelines in the shells that they have there, with stand-ins for what needs an account.

It needs what npm ci installs, dist/ as npm run build makes it, and Helm, which test/deploy/install-tools.sh builds. The dry run
also needs bash, git, jq, and busybox, whose shell is that of GitLab's release job: Debian's packages of these names have them.
It checks the image file where hadolint is, which install-tools.sh fetches, and says so where it is not. Docker, cosign, gh and
osv-scanner are not needed: pipelines call them with an account, and the dry run records how.
`;
const manifest = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as Readonly<Record<string, unknown>> & {
  readonly version: string;
  readonly files: readonly string[];
};
const { version } = manifest;

/**
 * Makes everything of a release that needs no registry, into release/: notes, SBOM, npm package, chart, checksums and the
 * documents as a site. A dry run takes the coming notes and looks at the image file as well, after it ran the scripts of both
 * pipelines.
 */
function release(): void {
  const { dry, image, digest } = values;
  if (values.help) return void process.stdout.write(HELP);
  // Before the minutes that the rest takes.
  toolPath("helm");
  const tag = values.tag ?? `v${version}`;
  if (tag !== `v${version}`) throw new Error(`the tag ${tag} is not that of package.json, v${version}`);
  const source = values.source ?? (dry ? "https://git.example.org/acme/svc" : undefined);
  if (source === undefined) throw new Error("--source: name the address of the repository");
  if (dry) {
    step("scripts of GitHub's pipeline", () => playPipeline("github"));
    step("scripts of GitLab's pipeline", () => playPipeline("gitlab"));
  }
  if (!existsSync(`${ROOT}dist`)) throw new Error("there is no dist; run npm run build first");
  if ((image === undefined) !== (digest === undefined)) throw new Error("--image and --digest belong together");
  if (digest !== undefined && !/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`no digest: ${digest}`);
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER);
  const pages = process.env.GITLAB_CI === undefined ? "/" : "/-/";
  step("notes", () => {
    const changelog = readFileSync(`${ROOT}CHANGELOG.md`, "utf8");
    const notes = (dry ? comingNotes : releaseNotes)(changelog, version);
    writeFileSync(`${FOLDER}/notes.md`, withAbsoluteLinks(notes, `${source}${pages}blob/${tag}`));
  });
  step("SBOM", () => cpSync(`${ROOT}dist/sbom.cyclonedx.json`, `${FOLDER}/svc-${version}.cyclonedx.json`));
  step("npm package", packNpm);
  step("chart", () =>
    packageChart(
      {
        tag,
        source,
        pages,
        image: image === undefined || digest === undefined ? undefined : { repository: image, digest },
      },
      FOLDER,
    ),
  );
  step("checksums", writeChecksums);
  // What is published has to build; they are published by a job of their own.
  if (digest === undefined) step("documents", () => buildDocuments(source));
  if (dry && hasTool("hadolint")) step("image file", lintImageFile);
  else if (dry) process.stdout.write(`image file: ${LINT_LEFT_OUT}`);
}

/** The bundle as an npm package, under a name that is not the chart's. It has all that it needs, so it names no packages. */
function packNpm(): void {
  const folder = mkdtempSync(`${tmpdir()}/svc-package-`);
  const { name, description, license, type, engines, bin, files } = manifest;
  for (const file of [...files, "LICENSE", "README.md"]) cpSync(ROOT + file, `${folder}/${file}`, { recursive: true });
  const shipped = { name, version, description, license, type, engines, bin, files };
  writeFileSync(`${folder}/package.json`, JSON.stringify(shipped, undefined, 2));
  execFileSync("npm", ["pack", "--pack-destination", FOLDER], { cwd: folder, stdio: "ignore" });
  renameSync(`${FOLDER}/svc-${version}.tgz`, `${FOLDER}/svc-${version}-node.tgz`);
  rmSync(folder, { recursive: true });
}

/** SHA256SUMS, as `sha256sum --check` reads it, of the files that a release carries. */
function writeChecksums(): void {
  const names = readdirSync(FOLDER).filter((name) => name.startsWith("svc-"));
  const lines = names.sort().map((name) => {
    const digest = createHash("sha256").update(readFileSync(`${FOLDER}/${name}`));
    return `${digest.digest("hex")}  ${name}\n`;
  });
  writeFileSync(`${FOLDER}/SHA256SUMS`, lines.join(""));
}

function buildDocuments(source: string): void {
  const { status, stderr } = spawnSync("npm", ["run", "--silent", "docs", "--", "--outDir", `${FOLDER}/docs`], {
    cwd: ROOT,
    encoding: "utf8",
    env: { ...process.env, SVC_DOCS_SOURCE: source },
  });
  if (status !== 0) throw new Error(stderr);
}

const LINT_LEFT_OUT = `NOT CHECKED here, since hadolint is not installed; test/deploy/install-tools.sh fetches it. \`npm run check:deploy\` of both
pipelines checks it.
`;

function lintImageFile(): void {
  const { ok, stdout } = runTool("hadolint", [`${ROOT}Dockerfile`]);
  if (!ok) throw new Error(stdout);
}

function step(name: string, run: () => unknown): void {
  run();
  process.stdout.write(`${name}: done\n`);
}

try {
  release();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
