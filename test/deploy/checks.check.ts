import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { loadServerConfig } from "../../src/config/server/server.js";
import type { Manifest } from "../../src/core/model/application.js";
import type { CheckOutcome } from "../../src/core/model/check.js";
import { jsonText } from "../../src/core/model/json.js";
import { checkInputTask } from "../../src/core/render/check-manifests.js";
import { createCheckRunner } from "../../src/workers/check-runner.js";
import { ManualClock } from "../manual-clock.js";
import { recordingLog } from "../recording-log.js";
import { toolPath, type Tool } from "./deploy-tool.js";

const GUIDE = readFileSync(new URL("../../docs/checks.md", import.meta.url), "utf8");
const folder = mkdtempSync(join(tmpdir(), "svc-real-checks-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The block of docs/checks.md that begins with this comment. */
function block(name: string): string {
  const found = [...GUIDE.matchAll(/^```\w+\n([^]*?)^```$/gm)].map(([, text = ""]) => text);
  const text = found.find((one) => one.startsWith(`# ${name}\n`));
  if (text === undefined) throw new Error(`docs/checks.md has no block ${name}`);
  return text;
}

/** A recipe of docs/checks.md, with its programs and files where they are on this machine. */
function recipe(name: Tool) {
  const text = block(name).replaceAll(`/opt/checks/${name}`, toolPath(name)).replaceAll("/etc/svc-checks", folder);
  const others = { deployer: { server_url: "https://a.example.org", token: "t" } };
  const hostb = { url: "https://b.example.org", token: "t", webhook_secret: "hook-secret-of-tests" };
  const { checks } = parse(text) as { checks: unknown };
  const loaded = loadServerConfig([{ name: "svc.yaml", text: JSON.stringify({ ...others, hostb, checks }) }], {});
  if (loaded.kind === "invalid") throw new Error(JSON.stringify(loaded.problems));
  const [check] = loaded.config.checks;
  if (check === undefined) throw new Error("the recipe has no check");
  return check;
}

async function run(name: Tool, manifests: readonly Manifest[]): Promise<CheckOutcome> {
  const head = jsonText(manifests);
  const written = await checkInputTask.run({ head, base: head });
  const runner = createCheckRunner({ folder, clock: new ManualClock(), log: recordingLog(), onEnd: () => undefined });
  const order = { check: recipe(name), application: "web", namespace: "shop", repository: "acme/deploy", number: 7 };
  return runner.run({ ...order, ...written, reuse: false }, { owner: "tests", signal: new AbortController().signal });
}

/** Texts that readers of YAML 1.1 and 1.2 take for different things. */
const STRANGE = [
  "yes",
  "012",
  "0x1f",
  "1_000",
  "<<",
  "12:30",
  "~",
  "a\u2028kind: Pod\u2028  b: c",
  "x\n---\nkind: Pod\n",
];

function configMap(data: Readonly<Record<string, string | number>>): Manifest {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web", namespace: "shop" }, data };
}

const strange = configMap(Object.fromEntries(STRANGE.map((text, index) => [`key${index}`, text])));

describe("kubeconform", () => {
  // The machine may reach no registry of schemas: these are what the recipe's folder holds.
  const schema = {
    type: "object",
    properties: { data: { type: "object", additionalProperties: { type: "string" } } },
    required: ["metadata"],
  };
  writeFileSync(join(folder, "configmap.json"), JSON.stringify(schema));

  test("passes texts whatever they look like", async () => {
    expect(await run("kubeconform", [strange, configMap({ a: "b" })])).toEqual({ kind: "passed" });
  });

  test("fails for a number in the place of a text, and says where", async () => {
    const outcome = await run("kubeconform", [strange, configMap({ replicas: 3 })]);
    expect(outcome).toMatchObject({ kind: "failed", reason: "exit code 1" });
    expect(outcome.kind === "failed" && outcome.output).toContain("/data/replicas");
  });

  test("sees a key that merges nothing in Kubernetes as what it is", async () => {
    const merged = { ...configMap({}), data: { "<<": { a: "b" } } };
    const outcome = await run("kubeconform", [merged]);
    expect(outcome.kind === "failed" && outcome.output).toContain("'/data/<<': got object");
  });
});

describe("conftest", () => {
  writeFileSync(join(folder, "policy.rego"), block("policy.rego"));

  function deployment(runAsNonRoot: boolean): Manifest {
    const containers = [{ name: "web", image: "registry.example.org/web:1", securityContext: { runAsNonRoot } }];
    const metadata = { name: "web", namespace: "shop" };
    return { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: { template: { spec: { containers } } } };
  }

  test("passes what the policy allows", async () => {
    expect(await run("conftest", [strange, deployment(true)])).toEqual({ kind: "passed" });
  });

  test("fails for a container that may run as root, and says what to set", async () => {
    const outcome = await run("conftest", [strange, deployment(false)]);
    expect(outcome).toMatchObject({ kind: "failed", reason: "exit code 1" });
    expect(outcome.kind === "failed" && outcome.output).toContain("Deployment web runs as root: set runAsNonRoot");
  });
});
