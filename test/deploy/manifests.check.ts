import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { OTHER_NAMES } from "../../src/config/server/section-names.js";
import { checkInPod } from "./check-in-pod.js";
import { brokenReferences, spareSeconds } from "./cross-references.js";
import type { KubernetesObject } from "./kubernetes-objects.js";
import { buildManifests, configText, only, renderChart } from "./rendering.js";

/** The example overlay in the chart's words. */
const EXAMPLE = {
  image: { repository: "registry.example.org/svc" },
  existingSecret: "svc",
  config: parse(configText(buildManifests("overlays/example"))) as unknown,
  ingress: {
    enabled: true,
    className: "nginx",
    host: "svc.example.org",
    annotations: { "nginx.ingress.kubernetes.io/proxy-body-size": "25m" },
    tlsSecret: "svc-tls",
  },
  networkPolicy: { enabled: true },
  serviceMonitor: { enabled: true },
};

/** Labels, annotations and fields that only one of the two tools gives. */
const OF_ONE_TOOL = [
  "helm.sh/chart",
  "app.kubernetes.io/managed-by",
  "app.kubernetes.io/version",
  "checksum/config",
  "namespace",
];

/** The objects in the order of their names, without what only one tool gives; svc.yaml as what it says. */
function bare(objects: readonly KubernetesObject[]): readonly unknown[] {
  const config = only(objects, "ConfigMap").metadata.name;
  const text = JSON.stringify(objects, (key, value: unknown) => {
    if (OF_ONE_TOOL.includes(key)) return undefined;
    if (key === "annotations" && Object.keys(value ?? {}).every((each) => OF_ONE_TOOL.includes(each))) return undefined;
    if (key === "svc.yaml") return renamed(parse(String(value)) as Record<string, unknown>);
    return value === config ? "svc" : value;
  });
  return (JSON.parse(text) as { readonly kind: string; readonly metadata: { readonly name: string } }[]).sort(
    (left, right) => nameOf(left).localeCompare(nameOf(right)),
  );
}

/** The sections under the names that the chart gives them. */
function renamed(config: Record<string, unknown>): unknown {
  const names = new Map(OTHER_NAMES.flatMap(({ within, name, other }) => (within.length === 0 ? [[other, name]] : [])));
  return Object.fromEntries(Object.entries(config).map(([key, section]) => [names.get(key) ?? key, section]));
}

function nameOf({ kind, metadata }: { readonly kind: string; readonly metadata: { readonly name: string } }): string {
  return `${kind} ${metadata.name}`;
}

describe("the example overlay", () => {
  const objects = buildManifests("overlays/example");

  test("is, object for object, what the chart makes of the same wishes", () => {
    expect(bare(objects)).toEqual(bare(renderChart(EXAMPLE)));
  });

  test("refers to nothing that is not there", () => {
    expect(brokenReferences(objects, { secrets: ["svc"], configMaps: [] })).toEqual([]);
  });

  test("carries a svc.yaml that svc takes, with the variables that its pods get", () => {
    expect(checkInPod(objects)).toEqual({ lines: ["svc.yaml: valid"], exitCode: 0 });
  });

  test("gives every object the namespace", () => {
    expect(new Set(objects.map(({ metadata }) => metadata.namespace))).toEqual(new Set(["svc"]));
  });
});

describe("the base", () => {
  const objects = buildManifests("base");

  test("is one process that is never beside another, since it knows of no Redis", () => {
    const deployment = only(objects, "Deployment");
    expect([deployment.spec.replicas, deployment.spec.strategy.type]).toEqual([1, "Recreate"]);
    expect(spareSeconds(deployment, "25s")).toBe(10);
  });

  test("refers to nothing but the ConfigMap that an overlay brings", () => {
    expect(brokenReferences(objects, { secrets: [], configMaps: ["svc"] })).toEqual([]);
  });
});
