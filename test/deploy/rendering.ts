import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";
import type { ChartValues } from "./chart-values.js";
import { runTool } from "./deploy-tool.js";
import type { ToolResult } from "./deploy-tool.js";
import { ofKind, readObjects } from "./kubernetes-objects.js";
import type { KubernetesObject } from "./kubernetes-objects.js";

const DEPLOY = fileURLToPath(new URL("../../deploy/", import.meta.url));
const CHART = `${DEPLOY}chart`;

const rendered = new Map<ChartValues, readonly KubernetesObject[]>();

/** What the chart makes of the values. Throws Helm's own words for values that it refuses. */
export function renderChart(values: ChartValues): readonly KubernetesObject[] {
  const objects = rendered.get(values) ?? objectsOf(templateChart(values));
  rendered.set(values, objects);
  return objects;
}

/** What `helm test` makes of the values, beside what the chart installs. */
export function renderTest(values: ChartValues): readonly KubernetesObject[] {
  return objectsOf(templateChart(values, ["--show-only", "templates/tests/ready.yaml"]));
}

/** The chart's documents without its tests, or Helm's refusal of the values. */
export function templateChart(values: ChartValues, options: readonly string[] = ["--skip-tests"]): ToolResult {
  const args = ["template", "svc", CHART, "--namespace", "svc", ...options, "--values", "-"];
  return runTool("helm", args, JSON.stringify(values));
}

/** Helm's own look at the chart. */
export function lintChart(values: ChartValues): ToolResult {
  return runTool("helm", ["lint", "--strict", CHART, "--values", "-"], JSON.stringify(values));
}

/** What Kustomize makes of a folder below deploy/kustomize. */
export function buildManifests(folder: string): readonly KubernetesObject[] {
  return objectsOf(runTool("kustomize", ["build", `${DEPLOY}kustomize/${folder}`]));
}

/** The one object of a kind. Throws when there is none or more than one. */
export function only<Kind extends KubernetesObject["kind"]>(objects: readonly KubernetesObject[], kind: Kind) {
  const [object, ...others] = ofKind(objects, kind);
  if (object === undefined || others.length > 0) throw new Error(`not exactly one ${kind}`);
  return object;
}

/** The text of svc.yaml in the ConfigMap. */
export function configText(objects: readonly KubernetesObject[]): string {
  return only(objects, "ConfigMap").data["svc.yaml"] ?? "";
}

function objectsOf({ ok, stdout, stderr }: ToolResult): readonly KubernetesObject[] {
  if (!ok) throw new Error(stderr);
  return readObjects(parseAllDocuments(stdout).map((document) => document.toJS() as unknown));
}
