import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";

const ROOT = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), "utf8");
const FILES = readdirSync(new URL(".github/workflows/", ROOT)).map((name) => `.github/workflows/${name}`);
const GITLAB = ".gitlab-ci.yml";
/** A patch release, whose digest Renovate adds. */
const EXACT_NODE = /^node:\d+\.\d+\.\d+-trixie-slim(?:@sha256:[0-9a-f]{64})?$/;

/** The first major version of each action that runs on Node 24. What is not here was not looked at. */
const NODE_24: Readonly<Record<string, number>> = {
  "actions/attest-build-provenance": 4,
  "actions/checkout": 5,
  "actions/configure-pages": 6,
  "actions/deploy-pages": 5,
  "actions/setup-go": 6,
  "actions/setup-node": 5,
  "actions/upload-artifact": 6,
  "actions/upload-pages-artifact": 5,
  "docker/build-push-action": 7,
  "docker/login-action": 4,
  "docker/setup-buildx-action": 4,
  "docker/setup-qemu-action": 4,
  "github/codeql-action/analyze": 4,
  "github/codeql-action/init": 4,
  "sigstore/cosign-installer": 4,
};

interface Job {
  readonly steps?: readonly { readonly run?: string }[];
}

describe.each(FILES)("%s", (file) => {
  const text = read(file);

  test("pins every action by commit, with its version for people and Renovate", () => {
    const used = [...text.matchAll(/uses: (\S+)(.*)/g)].filter(([, name = ""]) => !name.startsWith("./"));
    expect(used.length).toBeGreaterThan(0);
    for (const [line, name = "", version = ""] of used) {
      expect([line, /@[0-9a-f]{40}$/.test(name), /^ # v\d+(\.\d+)*$/.test(version)]).toEqual([line, true, true]);
    }
  });

  test("reads by default, and keeps the token out of the working copy", () => {
    expect(parse(text)).toMatchObject({ permissions: { contents: "read" } });
    const checkouts = text.match(/actions\/checkout@.*\n\s+with:\n\s+persist-credentials: false/g) ?? [];
    expect(checkouts).toHaveLength((text.match(/actions\/checkout@/g) ?? []).length);
  });

  test("puts nothing that others write into a shell", () => {
    const { jobs } = parse(text) as { readonly jobs: Readonly<Record<string, Job>> };
    const scripts = Object.values(jobs).flatMap(({ steps = [] }) => steps.flatMap(({ run = [] }) => run));
    expect(scripts.length).toBeGreaterThan(1);
    expect(scripts.filter((script) => script.includes("${{"))).toEqual([]);
  });
});

test("the documents are deployed from the default branch, since GitHub's environment for Pages refuses a tag", () => {
  const deploying = FILES.filter((file) => read(file).includes("actions/deploy-pages@"));
  expect(deploying).toEqual([".github/workflows/pages.yml"]);
  expect(parse(read(deploying.join()))).toMatchObject({
    on: { workflow_run: { workflows: ["release"] } },
    jobs: {
      pages: {
        if: "github.event.workflow_run.conclusion == 'success' && github.event.workflow_run.event == 'push'",
        environment: { name: "github-pages" },
      },
    },
  });
});

test("no action needs a runtime that GitHub has removed", () => {
  const versions = FILES.flatMap((file) => [...read(file).matchAll(/uses: (\S+)@[0-9a-f]{40} # v(\d+)/g)]);
  const old = versions.filter(([, name = "", major = ""]) => Number(major) < (NODE_24[name] ?? Infinity));
  expect(old.map(([line]) => line)).toEqual([]);
});

test("both hosts look for known vulnerabilities with the same release of osv-scanner", () => {
  const github = read(".github/workflows/security.yml");
  const version = /osv-scanner@(v\d+\.\d+\.\d+)/.exec(github)?.[1] ?? "";
  expect(read(GITLAB)).toContain(`osv-scanner@${version}`);
  for (const text of [github, read(GITLAB)]) {
    expect(text).toMatch(/osv-scanner"? scan source --lockfile package-lock.json/);
  }
  expect(parse(github)).toMatchObject({ on: { pull_request: null, schedule: [expect.anything()] } });
});

test("every npm script and file that the pipelines run exists", () => {
  const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: Readonly<Record<string, string>> };
  const texts = [...FILES, GITLAB].map(read).join("\n");
  const named = [...texts.matchAll(/\bnpm run ([a-z][a-z0-9:]*)/g)].map(([, name = ""]) => name);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  for (const [path] of texts.matchAll(/(?:\.ci|test)\/[\w/-]+(?:\.sh)?(?=\s|$)/g)) expect(read(path)).toMatch(/^#!/);
});

test("GitLab's pipeline has the jobs of GitHub's", () => {
  const ofGitHub = FILES.flatMap((file) => Object.keys((parse(read(file)) as { jobs: object }).jobs));
  const ofGitLab = Object.keys(parse(read(GITLAB)) as object);
  expect(new Set(ofGitHub)).toEqual(
    new Set([
      ...["check", "deploy", "node", "cluster", "e2e", "nightly", "chaos", "converges"],
      ...["vulnerabilities", "sast", "release", "pages"],
    ]),
  );
  expect(ofGitLab).toEqual(expect.arrayContaining(ofGitHub));
});

test("every job runs on the image that the Dockerfile stands on", () => {
  const image = /^ARG NODE_IMAGE=(\S+)/m.exec(read("Dockerfile"))?.[1] ?? "";
  expect(image).toMatch(EXACT_NODE);
  const files = [...FILES, GITLAB, ".devcontainer/devcontainer.json"];
  const used = files.flatMap((file) => read(file).match(/(?<=["\s])node:\d[^\s"]+/g) ?? []);
  expect(used.length).toBeGreaterThan(4);
  expect(new Set(used)).toEqual(new Set([image]));
});

test("both pipelines test the oldest Node that is supported, and each line after it up to the image's", () => {
  const { engines } = JSON.parse(read("package.json")) as { readonly engines: { readonly node: string } };
  const oldest = /^>=(\d+\.\d+)$/.exec(engines.node)?.[1] ?? "";
  const image = Number(/^ARG NODE_IMAGE=node:(\d+)/m.exec(read("Dockerfile"))?.[1]);
  const later: string[] = [];
  for (let line = Number.parseInt(oldest, 10) + 2; line <= image; line += 2) later.push(String(line));
  const versions = [oldest, ...later];
  expect(versions.length).toBeGreaterThan(2);
  expect(parse(read(".github/workflows/check.yml"))).toMatchObject({
    jobs: { node: { strategy: { matrix: { node: versions } } } },
  });
  expect(parse(read(GITLAB))).toMatchObject({ node: { parallel: { matrix: [{ NODE_VERSION: versions }] } } });
  expect(read("SECURITY.md")).toContain(
    `${Number.parseInt(oldest, 10)} from ${oldest} on, ${later.slice(0, -1).join(", ")} and ${image}; the image has ${image}`,
  );
});
