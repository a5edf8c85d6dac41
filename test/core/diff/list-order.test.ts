import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Manifest } from "../../../src/core/model/application.js";
import { isJsonObject, type Json } from "../../../src/core/model/json.js";
import { diff, object } from "./resource.js";

const container = (members: Manifest) => [{ name: "web", image: "web:1", ...members }];

/** A Deployment with one container of these members. */
const deployment = (members: Manifest, pod: Manifest = {}) =>
  object("apps/v1/Deployment", "web", { spec: { template: { spec: { containers: container(members), ...pod } } } });

describe("an order without an effect is no change", () => {
  test.each<[string, Manifest, Manifest]>([
    [
      "secrets of a ServiceAccount",
      object("v1/ServiceAccount", "web", { secrets: [{ name: "a" }, { name: "b" }] }),
      object("v1/ServiceAccount", "web", { secrets: [{ name: "b" }, { name: "a" }] }),
    ],
    [
      "pull secrets of a ServiceAccount",
      object("v1/ServiceAccount", "web", { imagePullSecrets: [{ name: "a" }, { name: "b" }] }),
      object("v1/ServiceAccount", "web", { imagePullSecrets: [{ name: "b" }, { name: "a" }] }),
    ],
    [
      "rules of a Role",
      object("rbac.authorization.k8s.io/v1/Role", "web", { rules: [{ verbs: ["get"] }, { verbs: ["list"] }] }),
      object("rbac.authorization.k8s.io/v1/Role", "web", { rules: [{ verbs: ["list"] }, { verbs: ["get"] }] }),
    ],
  ])("%s", (_, base, head) => {
    expect(diff([base], [head]).resources).toEqual([]);
  });
});

describe("an order that may have an effect is a change", () => {
  test.each<[string, Manifest, Manifest]>([
    [
      "a list of another kind",
      object("example.com/v1/Thing", "a", { spec: { ports: [{ port: 80 }, { port: 443 }] } }),
      object("example.com/v1/Thing", "a", { spec: { ports: [{ port: 443 }, { port: 80 }] } }),
    ],
    [
      "a Service of another group",
      object("serving.knative.dev/v1/Service", "a", { spec: { ports: [{ port: 80 }, { port: 443 }] } }),
      object("serving.knative.dev/v1/Service", "a", { spec: { ports: [{ port: 443 }, { port: 80 }] } }),
    ],
    [
      "verbs of a rule are none of the lists that are known",
      object("rbac.authorization.k8s.io/v1/Role", "web", { rules: [{ verbs: ["get", "list"] }] }),
      object("rbac.authorization.k8s.io/v1/Role", "web", { rules: [{ verbs: ["list", "get"] }] }),
    ],
    [
      "rules of an Ingress",
      object("networking.k8s.io/v1/Ingress", "a", { spec: { rules: [{ host: "a" }, { host: "b" }] } }),
      object("networking.k8s.io/v1/Ingress", "a", { spec: { rules: [{ host: "b" }, { host: "a" }] } }),
    ],
    ["arguments of a container", deployment({ args: ["--one", "--two"] }), deployment({ args: ["--two", "--one"] })],
    [
      "a port twice in a Service",
      object("v1/Service", "web", { spec: { ports: [{ port: 80, name: "a" }, { port: 80, name: "b" }, { port: 1 }] } }),
      object("v1/Service", "web", { spec: { ports: [{ port: 80, name: "b" }, { port: 80, name: "b" }, { port: 1 }] } }),
    ],
  ])("%s", (_, base, head) => {
    expect(diff([base], [head]).updated).toBe(1);
  });

  test.each<[string, Manifest, Manifest, string]>([
    [
      "env",
      deployment({ env: [{ name: "A" }, { name: "B" }] }),
      deployment({ env: [{ name: "B" }, { name: "A" }] }),
      "# Only the order of spec.template.spec.containers[].env changes: the Pods are rolled for it.",
    ],
    [
      "init containers",
      deployment({}, { initContainers: [{ name: "a" }, { name: "b" }] }),
      deployment({}, { initContainers: [{ name: "b" }, { name: "a" }] }),
      "# Only the order of spec.template.spec.initContainers changes: the Pods are rolled for it.",
    ],
    [
      "volumes of a CronJob",
      object("batch/v1/CronJob", "a", {
        spec: { jobTemplate: { spec: { template: { spec: { volumes: [{ name: "a" }, { name: "b" }] } } } } },
      }),
      object("batch/v1/CronJob", "a", {
        spec: { jobTemplate: { spec: { template: { spec: { volumes: [{ name: "b" }, { name: "a" }] } } } } },
      }),
      "# Only the order of spec.jobTemplate.spec.template.spec.volumes changes.",
    ],
    [
      "the ports of a Service, the first of which Pods are told",
      object("v1/Service", "web", { spec: { ports: [{ port: 80 }, { port: 443 }] } }),
      object("v1/Service", "web", { spec: { ports: [{ port: 443 }, { port: 80 }] } }),
      "# Only the order of spec.ports changes.",
    ],
    [
      "ports with the same number and another protocol",
      object("v1/Service", "dns", { spec: { ports: [{ port: 53 }, { port: 53, protocol: "UDP" }] } }),
      object("v1/Service", "dns", { spec: { ports: [{ port: 53, protocol: "UDP" }, { port: 53 }] } }),
      "# Only the order of spec.ports changes.",
    ],
  ])("the order of %s is shown as such", (_, base, head, note) => {
    const [resource] = diff([base], [head]).resources;
    expect(resource?.diff.split("\n")[0]).toBe(note);
    expect(resource?.diff).toMatch(/^@@[^]*^[-+] /m);
  });
});

test("a moved element that changes shows what changes in it, and that the order changes", () => {
  const many = ["A", "B", "C", "D", "E", "F"].map((name) => ({ name, value: "1" }));
  const moved = [{ name: "F", value: "2" }, ...many.slice(0, 5)];
  const [resource] = diff([deployment({ env: many })], [deployment({ env: moved })]).resources;
  const lines = resource?.diff.split("\n") ?? [];
  expect(lines[0]).toBe(
    "# The order, too, of spec.template.spec.containers[].env changes: the Pods are rolled for it.",
  );
  expect(lines.filter((line) => /^[-+]/.test(line)).map((line) => line.replace(/\s+/, " "))).toEqual([
    '- value: "1"',
    '+ value: "2"',
  ]);
});

test("two elements that change places with a third between them are paired by their key", () => {
  const ports = (numbers: readonly number[]) =>
    deployment({ ports: numbers.map((containerPort) => ({ containerPort })) });
  const [resource] = diff([ports([1, 2, 3])], [ports([3, 2, 1, 4])]).resources;
  const changed = resource?.diff.split("\n").filter((line) => /^[-+]/.test(line));
  expect(changed).toEqual(["+            - containerPort: 4"]);
});

test("whatever the lists, equal JSON has no difference and another element always has one", () => {
  const element = fc.record(
    { name: fc.constantFrom("a", "b", "c"), value: fc.constantFrom("1", "2"), port: fc.constantFrom(1, 2, 3) },
    { requiredKeys: [] },
  );
  const list = fc.array(element, { maxLength: 5 });
  const kinds = fc.constantFrom<(items: readonly Manifest[]) => Manifest>(
    (ports) => object("v1/Service", "a", { spec: { ports } }),
    (env) => deployment({ env }),
    (volumes) => deployment({}, { volumes }),
    (secrets) => object("v1/ServiceAccount", "a", { secrets }),
    (rules) => object("rbac.authorization.k8s.io/v1/ClusterRole", "a", { rules }),
  );
  const bag = (items: readonly Json[]) => items.map((item) => JSON.stringify(sorted(item))).sort();
  fc.assert(
    fc.property(kinds, list, list, (kind, one, other) => {
      expect(diff([kind(one)], [kind(one)]).resources).toEqual([]);
      if (JSON.stringify(bag(one)) !== JSON.stringify(bag(other))) {
        expect(diff([kind(one)], [kind(other)]).updated).toBe(1);
      }
    }),
  );
});

function sorted(value: Json): Json {
  return isJsonObject(value) ? Object.fromEntries(Object.entries(value).sort()) : value;
}
