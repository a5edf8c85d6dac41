import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { type Call, DIGEST, playPipeline, SECRET } from "../../scripts/release-pipelines.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as { readonly version: string };
const ATTACHED = [
  `release/svc-${version}-node.tgz`,
  `release/svc-${version}.cyclonedx.json`,
  `release/svc-${version}.tgz`,
  "release/SHA256SUMS",
  "release/SHA256SUMS.sigstore.json",
];

/** In BusyBox, as Alpine has it: what bash alone knows is refused. */
function parsed(script: string): string {
  const { error, stderr } = spawnSync("busybox", ["sh", "-n"], { input: script, encoding: "utf8" });
  if (error !== undefined) throw error;
  return stderr;
}

test("every script of GitLab's pipeline is one for the shell of Alpine", () => {
  const jobs = parse(readFileSync(`${ROOT}.gitlab-ci.yml`, "utf8")) as Readonly<Record<string, unknown>>;
  const scripts = Object.entries(jobs).flatMap(([name, job]) => {
    const { before_script: before = [], script = [] } = (job ?? {}) as Readonly<Record<string, readonly string[]>>;
    return Array.isArray(job) || before.length + script.length === 0 ? [] : [[name, [...before, ...script].join("\n")]];
  });
  expect(scripts.length).toBeGreaterThan(8);
  expect(scripts.map(([name, script = ""]) => [name, parsed(script)])).toEqual(scripts.map(([name]) => [name, ""]));
  expect(parsed('docker login --password-stdin <<<"$PASSWORD"')).toContain("syntax error");
});

describe.each([
  ["github", "ghcr.io/acme/svc", "ghcr.io/acme/charts"],
  ["gitlab", "registry.gitlab.com/acme/svc", "registry.gitlab.com/acme/svc/charts"],
] as const)("the scripts of %s's release", (host, image, charts) => {
  let calls: readonly Call[] = [];
  const of = (program: string, ...first: readonly string[]) =>
    calls.filter((call) => call.program === program && first.every((arg, index) => call.args[index] === arg));
  beforeAll(() => {
    calls = playPipeline(host);
  });

  test("sign image and chart by the digests that were pushed, and attest the SBOM", () => {
    expect(of("cosign", "sign").map(({ args }) => args.slice(1))).toEqual([
      ["--yes", `${image}@${DIGEST}`],
      ["--yes", `${charts}/svc@${DIGEST}`],
    ]);
    expect(of("cosign", "attest").map(({ args }) => args.slice(1))).toEqual([
      ["--yes", "--type", "cyclonedx", "--predicate", `release/svc-${version}.cyclonedx.json`, `${image}@${DIGEST}`],
    ]);
    expect(of("helm", "push").map(({ args }) => args.slice(1))).toEqual([
      [`release/svc-${version}.tgz`, `oci://${charts}`],
    ]);
  });

  test("hand passwords on by standard input", () => {
    const logins = calls.filter(({ args }) => args.includes("--password-stdin"));
    expect(logins.length).toBeGreaterThan(0);
    expect(logins.map(({ input }) => input)).toEqual(logins.map(() => SECRET));
    // curl has its job token as GitLab's own documentation gives it.
    const others = calls.filter(({ program }) => program !== "curl");
    expect(others.filter(({ args }) => args.some((arg) => arg.includes(SECRET)))).toEqual([]);
  });

  test("attach notes, SBOM, packages, their checksums and the signature of these, as the last step", () => {
    if (host === "github") {
      const [release] = of("gh", "release", "create");
      expect(release?.args.slice(2)).toEqual([
        `v${version}`,
        "--verify-tag",
        "--title",
        `v${version}`,
        "--notes-file",
        "release/notes.md",
        ...ATTACHED,
      ]);
    } else {
      const files = of("curl").flatMap(({ args }) => {
        const at = args.indexOf("--upload-file");
        return at === -1 ? [] : [[args[at + 1], args[at + 2]]];
      });
      const packages = `https://gitlab.com/api/v4/projects/42/packages/generic/svc/${version}`;
      const names = ATTACHED.map((path) => path.slice("release/".length));
      expect(files).toEqual(names.map((name) => [`release/${name}`, `${packages}/${name}`]));
      const last = of("curl").at(-1);
      expect(last?.args.at(-1)).toBe("https://gitlab.com/api/v4/projects/42/releases");
      expect(JSON.parse(last?.input ?? "")).toEqual({
        tag_name: `v${version}`,
        name: `v${version}`,
        description: expect.stringContaining("### "),
        assets: { links: names.map((name) => ({ name, url: `${packages}/${name}`, link_type: "package" })) },
      });
    }
    const published = calls.findLastIndex(({ program }) => program === "gh" || program === "curl");
    expect(calls.slice(published + 1).map(({ args }) => args[0])).toEqual(["ci"]);
  });

  test("make checksums that are those of the files", () => {
    const lines = ATTACHED.filter((path) => path.includes("/svc-")).map((path) => {
      const digest = createHash("sha256")
        .update(readFileSync(ROOT + path))
        .digest("hex");
      return `${digest}  ${path.slice("release/".length)}\n`;
    });
    expect(readFileSync(`${ROOT}release/SHA256SUMS`, "utf8")).toBe(lines.join(""));
  });
});
