import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { parse } from "yaml";
import { brokenReferences, spareSeconds } from "./cross-references.js";
import { ofKind, readObjects } from "./kubernetes-objects.js";

const FOLDER = new URL("../../deploy/kustomize/", import.meta.url);
const FILES = [
  "base/service-account.yaml",
  "base/service.yaml",
  "base/deployment.yaml",
  "components/replicas/pod-disruption-budget.yaml",
  "overlays/example/ingress.yaml",
] as const;
const BY_HAND = { secrets: ["svc"], configMaps: ["svc"] };

/** The base's files with one text replaced by another in one of them. */
function manifests(file?: (typeof FILES)[number], from = "", to = ""): readonly unknown[] {
  return FILES.map((name) => {
    const text = readFileSync(new URL(name, FOLDER), "utf8");
    if (name !== file) return parse(text) as unknown;
    expect(text).toContain(from);
    return parse(text.replace(from, to)) as unknown;
  });
}

test("the base as it stands refers to nothing that is not there", () => {
  expect(brokenReferences(readObjects(manifests()), BY_HAND)).toEqual([]);
});

test.each([
  [FILES[0], "name: svc", "name: other", "Deployment svc: no ServiceAccount svc"],
  [FILES[1], "targetPort: http", "targetPort: web", "Service svc: no container names the port web"],
  [FILES[1], "selector:\n    app.kubernetes.io/name: svc", "selector:\n    app: svc", "Service svc selects no pod"],
  [FILES[1], "- name: http", "- name: web", "Ingress svc: no Service svc with a port http"],
  [
    FILES[2],
    "matchLabels:\n      app.kubernetes.io/name: svc",
    "matchLabels:\n      app.kubernetes.io/name: other",
    "Deployment svc: the selector does not match the pod's labels",
  ],
  [
    FILES[2],
    "path: /ready\n              port: http",
    "path: /ready\n              port: web",
    "Deployment svc: startupProbe asks a port that the container does not name",
  ],
  [FILES[2], "- name: clones\n          emptyDir", "- name: other\n          emptyDir", "volume other is not mounted"],
  [FILES[2], "- name: clones\n          emptyDir", "- name: other\n          emptyDir", "/data mounts a volume"],
  [FILES[2], "configMap:\n            name: svc", "configMap:\n            name: a", "Deployment svc: no ConfigMap a"],
  [
    FILES[2],
    "ports:\n            - name: http",
    "env: [{ name: A, valueFrom: { secretKeyRef: { name: other, key: A } } }]\n          ports:\n            - name: http",
    "Deployment svc: no Secret other",
  ],
  [FILES[3], "matchLabels:", "matchLabels:\n      a: b", "PodDisruptionBudget svc selects no pod"],
  [FILES[4], "name: svc\n                port", "name: web\n                port", "Ingress svc: no Service web"],
] as const)("in %s, %j turned into %j is found", (file, from, to, problem) => {
  const problems = brokenReferences(readObjects(manifests(file, from, to)), BY_HAND);
  expect(problems.join("\n")).toContain(problem);
});

test.each([
  [FILES[2], "readinessProbe:", "readinesProbe:", /readinesProbe/],
  [FILES[2], "runAsNonRoot: true", "runAsNonRoot: false", /runAsNonRoot/],
  [FILES[2], "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", /readOnlyRootFilesystem/],
  [
    FILES[2],
    "automountServiceAccountToken: false",
    "automountServiceAccountToken: true",
    /automountServiceAccountToken/,
  ],
  [FILES[2], "replicas: 1", "replicas: '1'", /replicas/],
  [FILES[1], "apiVersion: v1", "apiVersion: v2", /apiVersion/],
  [FILES[1], "port: 80", "port: 80000", /port/],
] as const)("in %s, %j turned into %j is not taken", (file, from, to, field) => {
  expect(() => readObjects(manifests(file, from, to))).toThrow(field);
});

test("the time that a pod has left to end is counted beyond preStop and the grace of the service", () => {
  const [deployment] = ofKind(readObjects(manifests()), "Deployment");
  const seconds = (grace: string) => (deployment === undefined ? undefined : spareSeconds(deployment, grace));
  expect([seconds("25s"), seconds("1m")]).toEqual([10, -25]);
});
