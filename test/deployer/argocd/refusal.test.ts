import { describe, expect, test } from "@jest/globals";
import { withoutValues } from "../../../src/deployer/argocd/client.js";
import { readRefusal } from "../../../src/deployer/argocd/trials.js";

const OBJECT = { kind: "Deployment", name: "web" };

function errorOf(text: string): string {
  return (
    "error performing state diffs: failed to calculate diff: error calculating server side diff: serverSideDiff error: " +
    `error running server side apply in dryrun mode for resource Deployment/web: ${text}`
  );
}

describe("the values that Kubernetes quotes are left out", () => {
  test.each([
    [
      'spec.selector: Invalid value: {"matchLabels":{"app":"other"}}: field is immutable',
      "spec.selector: field is immutable",
    ],
    [
      'spec.template: Invalid value: core.PodTemplateSpec{Name:"}: x", Containers:[]core.Container{core.Container{Image:"a"}}}: field is immutable',
      "spec.template: field is immutable",
    ],
    [
      'spec.clusterIPs[0]: Invalid value: []string{"10.0.0.9"}: may not change once set',
      "spec.clusterIPs[0]: may not change once set",
    ],
    ["spec.x: Invalid value: map[string]string{}: no", "spec.x: no"],
    ['a: Invalid value: "say \\"no\\": or else": must be short', "a: must be short"],
    [
      "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
      "spec.replicas: must be greater than or equal to 0",
    ],
    [
      '[a: Required value, b: Invalid value: "hunter2": too weak, c: Unsupported value: "x": supported values: "y", "z"]',
      '[a: Required value, b: too weak, c: Unsupported value: supported values: "y", "z"]',
    ],
    ['ports[1].name: Duplicate value: "http"', "ports[1].name: Duplicate value"],
    ["spec: Forbidden: no value is quoted here", "spec: Forbidden: no value is quoted here"],
    ['cut: Invalid value: {"a":{"b"', "cut:"],
    ['cut: Invalid value: "abc', "cut:"],
    ['cut: Invalid value: "password: hunter2', "cut:"],
    ['cut: Invalid value: {"a":"b} password: hunter2\\', "cut:"],
    ["a: Invalid value: ]{hunter2}: no", "a: no"],
    ["", ""],
  ])("%s", (text, expected) => {
    expect(withoutValues(text)).toBe(expected);
  });

  test.each(['{"', "{}", '{""}', "[]{}", "x{", '\\"'])("quickly, whatever they are: %s", (part) => {
    expect(withoutValues(`a: Invalid value: ${part.repeat(200_000)}`).length).toBeLessThan(200_000 * part.length);
  });
});

describe("an error about one object", () => {
  test.each([
    [
      'Deployment.apps "web" is invalid: spec.selector: field is immutable',
      "immutable",
      "spec.selector: field is immutable",
    ],
    [
      'Service "web" is invalid: spec.clusterIPs[0]: may not change once set',
      "immutable",
      "spec.clusterIPs[0]: may not change once set",
    ],
    [
      "StatefulSet.apps \"web\" is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
      "immutable",
      "spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
    ],
    [
      'PersistentVolumeClaim "web" is invalid: spec.resources.requests.storage: Forbidden: field can not be less than status.capacity',
      "immutable",
      "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity",
    ],
    [
      'RoleBinding.rbac.authorization.k8s.io "web" is invalid: roleRef: cannot change roleRef',
      "immutable",
      "roleRef: cannot change roleRef",
    ],
    [
      'Deployment.apps "web" is invalid: spec.replicas: must not be negative',
      "invalid",
      "spec.replicas: must not be negative",
    ],
    [
      "Deployment.apps \"web\" is invalid: spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
      "conflict",
      "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
    ],
    [
      'Deployment.apps "web" is invalid: spec.ports[1].name: Duplicate value',
      "conflict",
      "spec.ports[1].name: Duplicate value",
    ],
    [
      'admission webhook "x.example.com" denied the request: no latest',
      "denied",
      'admission webhook "x.example.com" denied the request: no latest',
    ],
    [
      "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too many",
      "denied",
      "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too many",
    ],
    ['deployments.apps "web" is forbidden: exceeded quota: q', "denied", "exceeded quota: q"],
    ['namespaces "shop" not found', "no-namespace", 'namespaces "shop" not found'],
    [
      'no matches for kind "Shop" in version "example.com/v1"',
      "no-kind",
      'no matches for kind "Shop" in version "example.com/v1"',
    ],
    [
      'resource mapping not found for name: "web" namespace: ""',
      "no-kind",
      'resource mapping not found for name: "web" namespace: ""',
    ],
    [
      'StorageClass.storage.k8s.io "web" is invalid: parameters: Forbidden: updates to parameters are forbidden.',
      "immutable",
      "parameters: Forbidden: updates to parameters are forbidden.",
    ],
    [
      "failed to create typed patch object (a/web; apps/v1, Kind=Deployment): .spec.foo: field not declared in schema",
      "unknown-field",
      "failed to create typed patch object (a/web; apps/v1, Kind=Deployment): .spec.foo: field not declared in schema",
    ],
    [
      'failed to create typed patch object (a/web; apps/v1, Kind=Deployment): .spec.env: duplicate entries for key [name="A"]',
      "conflict",
      'failed to create typed patch object (a/web; apps/v1, Kind=Deployment): .spec.env: duplicate entries for key [name="A"]',
    ],
  ])("%s is %s", (said, cause, message) => {
    expect(readRefusal(errorOf(said), OBJECT)).toEqual({ cause, message });
  });

  test.each([
    [
      "rights of Argo CD",
      errorOf('deployments.apps "web" is forbidden: User "system:serviceaccount:argocd:argocd-server" cannot patch it'),
    ],
    ["a webhook that is away", errorOf('Internal error occurred: failed calling webhook "x.example.com": timeout')],
    ["a webhook that cannot be tried", errorOf('admission webhook "x.example.com" does not support dry run')],
    ["another object", errorOf('Deployment.apps "web" is invalid: x').replace("Deployment/web", "Deployment/api")],
    ["a place that may not be right", errorOf("the server could not find the requested resource")],
    ["Argo CD itself", "error getting app instance label key: boom"],
  ])("%s is no refusal", (_, text) => {
    expect(readRefusal(text, OBJECT)).toBeUndefined();
  });
});
