import { describe, expect, test } from "@jest/globals";
import { removesMembers, trialOrder } from "../../../src/core/diff/live/trial-order.js";
import { differingPairs, pairManifests } from "../../../src/core/diff/manifest-diff.js";
import type { Manifest } from "../../../src/core/model/application.js";
import { revision } from "../../../src/core/model/brand.js";
import { withOption } from "./resource.js";

const HEAD = revision("b".repeat(40));

function orderOf(base: readonly Manifest[], head: readonly Manifest[], syncOptions: readonly string[] = []) {
  const request = {
    base,
    head,
    destinationNamespace: "shop",
    baseNamespace: "shop",
    syncOptions,
    placeholders: { base: revision("a".repeat(40)), head: HEAD },
    redact: [],
  };
  return trialOrder(request, differingPairs(pairManifests(request)), new Map());
}

function object(kind: string, name: string, more: Manifest = {}, apiVersion = "v1"): Manifest {
  return { apiVersion, kind, metadata: { name }, ...more };
}
const cm = (name: string, value: string): Manifest => object("ConfigMap", name, { data: { value } });

test("changed and new objects are tried as they are rendered, in their namespace; unchanged and deleted ones are not", () => {
  const same = cm("same", "1");
  const commit = cm("changed", `built from ${HEAD}`);
  const { objects, untried, changesPolicies } = orderOf(
    [same, cm("changed", "1"), cm("gone", "1")],
    [same, commit, cm("new", "1")],
  );
  expect(objects.map(({ title, object }) => [title, object.manifest])).toEqual([
    ["ConfigMap shop/changed", { ...commit, metadata: { name: "changed", namespace: "shop" } }],
    ["ConfigMap shop/new", { ...cm("new", "1"), metadata: { name: "new", namespace: "shop" } }],
  ]);
  expect({ untried, changesPolicies }).toEqual({ untried: [], changesPolicies: false });
});

test("what has no namespace gets none, and neither does what may have none", () => {
  const role = object("ClusterRole", "reader", {}, "rbac.authorization.k8s.io/v1");
  const custom = object("Shop", "one", {}, "example.com/v1");
  expect(orderOf([], [role, custom]).objects.map(({ object }) => object.manifest)).toEqual([role, custom]);
});

const hook = { metadata: { name: "x", annotations: { "argocd.argoproj.io/hook": "PreSync" } } };
const definition = object(
  "CustomResourceDefinition",
  "shops.example.com",
  { spec: { group: "example.com", names: { kind: "Shop" } } },
  "apiextensions.k8s.io/v1",
);

test.each<[string, Manifest, readonly Manifest[], readonly string[]]>([
  ["its values are hidden", object("Secret", "x", { data: { more: "++++++++" } }), [], []],
  ["a hook", { ...cm("x", "1"), ...hook }, [], []],
  ["its name is generated", { ...cm("", "1"), metadata: { generateName: "x-" } }, [], []],
  ["this sync creates its namespace", cm("x", "1"), [object("Namespace", "shop")], []],
  ["this sync changes its custom resource definition", object("Shop", "x", {}, "example.com/v1"), [definition], []],
  ["the sync may delete and recreate it (Force=true)", withOption(cm("x", "1"), "Force=true"), [], []],
])("%s: not tried", (reason, manifest, others, options) => {
  const { objects, untried } = orderOf([], [manifest, ...others], options);
  expect(untried.map((one) => one.reason)).toContain(reason);
  expect(objects.map(({ object }) => object.manifest.kind)).not.toContain(manifest.kind);
});

test("Force=true of the application, which Argo CD does not read there, keeps nothing from being tried", () => {
  expect(orderOf([], [cm("x", "1")], ["Force=true"])).toMatchObject({ objects: [{}], untried: [] });
});

test("a Secret that does not visibly change is not mentioned", () => {
  const secret = object("Secret", "x", { data: { a: "++++++++" } });
  expect(orderOf([secret], [secret, cm("x", "1")]).untried).toEqual([]);
});

test.each([
  ["ServerSideApply=true", "serverSide"],
  ["Validate=false", "unvalidated"],
  ["SkipDryRunOnMissingResource=true", "skippedWithoutKind"],
] as const)("%s of the application or of the object counts", (option, member) => {
  const own = { ...cm("x", "1"), metadata: { name: "x", annotations: { "argocd.argoproj.io/sync-options": option } } };
  expect(orderOf([], [cm("x", "1")], [option]).objects[0]?.[member]).toBe(true);
  expect(orderOf([], [own]).objects[0]?.[member]).toBe(true);
  expect(orderOf([], [cm("x", "1")]).objects[0]?.[member]).toBe(false);
});

test.each([
  object("ResourceQuota", "q"),
  object("LimitRange", "q"),
  object("ValidatingAdmissionPolicy", "q", {}, "admissionregistration.k8s.io/v1"),
  object("ClusterPolicy", "q", {}, "kyverno.io/v1"),
  object("K8sRequiredLabels", "q", {}, "constraints.gatekeeper.sh/v1beta1"),
])("$apiVersion $kind changes what the others are held to", (policy) => {
  expect(orderOf([], [cm("x", "1"), policy]).changesPolicies).toBe(true);
  expect(orderOf([policy], [cm("x", "1")]).changesPolicies).toBe(true);
  expect(orderOf([policy], [cm("x", "1"), policy]).changesPolicies).toBe(false);
});

describe("what a sync takes away", () => {
  const identity = { group: "apps", kind: "Deployment", namespace: "shop", name: "web", generateName: "" };
  const pod = (container: Manifest, spec: Manifest = {}): Manifest => ({
    spec: { template: { spec: { containers: [{ name: "main", ...container }], ...spec } } },
  });
  const port = (containerPort: number) => ({ containerPort, name: "http" });

  test.each<[string, Manifest, Manifest, boolean]>([
    ["nothing", pod({ image: "a" }), pod({ image: "b", tty: true }), false],
    ["a member", pod({ image: "a", tty: true }), pod({ image: "a" }), true],
    ["an element with a key", pod({ ports: [port(80)] }), pod({ ports: [port(81)] }), true],
    [
      "an element that changes under its key",
      pod({ env: [{ name: "A", value: "1" }] }),
      pod({ env: [{ name: "A", value: "2" }] }),
      false,
    ],
    [
      "the source of a variable",
      pod({ env: [{ name: "A", value: "1" }] }),
      pod({ env: [{ name: "A", valueFrom: {} }] }),
      true,
    ],
    ["an element without a key", pod({ args: ["a", "b"] }), pod({ args: ["a"] }), true],
    ["nothing from a list that grows", pod({ args: ["a"] }), pod({ args: ["a", "b"] }), false],
    ["a map for a list", pod({ args: { a: 1 } }), pod({ args: [] }), true],
  ])("%s", (_, before, after, expected) => {
    expect(removesMembers(identity, before, after)).toBe(expected);
  });

  test("is told of each object", () => {
    const web = (data: Manifest) => object("ConfigMap", "web", { data });
    expect(orderOf([web({ a: "1" })], [web({ b: "1" })]).objects[0]?.removes).toBe(true);
    expect(orderOf([web({ a: "1" })], [web({ a: "2", b: "1" })]).objects[0]?.removes).toBe(false);
    expect(orderOf([], [web({ a: "1" })]).objects[0]?.removes).toBe(false);
  });
});
