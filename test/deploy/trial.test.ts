import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "@jest/globals";
import { guideBlocks, guideText } from "./guide.js";

const SCRIPT = fileURLToPath(new URL("../../deploy/kind/trial.sh", import.meta.url));
const home = mkdtempSync(join(tmpdir(), "svc-trial-"));
afterAll(() => rmSync(home, { recursive: true }));

function trial(...args: readonly string[]) {
  // Without a PATH to kind and docker, nothing can be created whatever the arguments are.
  const env = { PATH: "/bin:/usr/bin:/nowhere", HOME: home };
  const { status, stdout, stderr } = spawnSync("bash", [SCRIPT, ...args], { env, encoding: "utf8", timeout: 20_000 });
  return { status, said: `${stdout}${stderr}` };
}

test.each([
  [[], 2, "Usage: deploy/kind/trial.sh"],
  [["bitbucket", "acme/shop"], 2, "Usage: deploy/kind/trial.sh"],
  [["--help"], 0, "--argocd URL"],
  [["github"], 1, "name the repository as in its address, such as acme/shop"],
  [["github", "acme"], 1, "name the repository as in its address"],
  [["github", 'acme/shop"]', "."], 1, "name the repository as in its address"],
  [["github", "acme/shop"], 1, "name the folder of acme/shop that Argo CD shall deploy"],
  [["github", "acme/shop", '"} evil'], 1, "name the folder of acme/shop"],
  [["github", "acme/shop", "../x", "--argocd", "https://a"], 1, "leave ../x out: the Argo CD at https://a has its"],
  [["github", "acme/shop", "--argocd"], 1, "--argocd needs a value"],
  [["github", "acme/shop", ".", "--prot", "1"], 1, "unknown option --prot; --help lists them"],
])("trial.sh %j ends with a sentence", (args, status, sentence) => {
  const ended = trial(...args);
  expect(ended).toMatchObject({ status, said: expect.stringContaining(sentence) });
});

test("every option of trial.sh that the page names is one, and the nightly runs its commands", () => {
  const text = guideText(["trial.md"]);
  const { said } = trial("--help");
  const named = new Set([...text.matchAll(/(?<=[ `])--[a-z]+/g)].map(([option]) => option));
  const program = new Set(["--online", "--help"]);
  expect([...named].filter((option) => !program.has(option) && !said.includes(`  ${option} `))).toEqual([]);
  expect(named.size).toBeGreaterThan(4);
  const proofs = guideBlocks(text).flatMap((block) => (block.kind === "commands" ? [block.proof.kind] : []));
  expect(proofs).toEqual(["run", "background", "background", "background", "run"]);
});
