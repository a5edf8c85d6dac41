import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { applicationName } from "../../src/core/model/brand.js";
import { environmentName } from "../../src/hosts/environment-name.js";

const DEFAULT = "{cluster}/{namespace}/{application}";
const nameOf = (cluster: string, namespace: string, application: string, template = DEFAULT) =>
  environmentName(template, { application: applicationName(application), destination: { cluster, namespace } });

test.each([
  ["https://kubernetes.default.svc", "shop", "web", "in-cluster/shop/web"],
  ["prod-eu", "shop", "web", "prod-eu/shop/web"],
  ["prod-eu", "shop", "team-a/web", "prod-eu/shop/team-a/web"],
  ["https://10.0.0.1:6443", "shop", "web", "10.0.0.1-6443/shop/web"],
  ["https://rancher.example.org/k8s/clusters/c-1", "shop", "web", "rancher.example.org-k8s-clusters-c-1/shop/web"],
  ["prod eu/1", "", "web", "prod-eu-1/_/web"],
  ["..", "", "web", "_/_/web"],
  ["Größe, `x`", "shop", "web", "Gr-e-x/shop/web"],
])("%s, %s and %s are %s", (cluster, namespace, application, name) => {
  expect(nameOf(cluster, namespace, application)).toBe(name);
});

test.each([
  ["{application}", "web"],
  ["argocd-eu/{application}", "argocd-eu/web"],
  ["prod-{cluster}/{application}.app", "prod-east/web.app"],
])("the template %s makes %s", (template, name) => {
  expect(nameOf("east", "shop", "web", template)).toBe(name);
});

test("two long names are cut and stay two", () => {
  const [one, other] = ["1", "2"].map((last) => nameOf("c".repeat(200), "n".repeat(60), `web${last}`));
  expect(one).toHaveLength(255);
  expect(one).toMatch(/^c+\/n+-[0-9a-f]{8}$/);
  expect(one).not.toBe(other);
});

/** `environment_name_regex` of GitLab, and its longest name; GitHub has the same limit. */
const VALID = /^[a-zA-Z0-9_${}. -](?:[a-zA-Z0-9_/${}. -]*[a-zA-Z0-9_${}. -])?$/;

test("whatever a definition says makes a valid name, and two applications never share one", () => {
  const segment = fc.stringMatching(/^[a-z0-9](?:[a-z0-9.-]{0,5}[a-z0-9])?$/);
  const application = fc.oneof(
    segment,
    fc.tuple(segment, segment).map((parts) => parts.join("/")),
  );
  const anywhere = fc.record({ cluster: fc.string(), namespace: fc.string() });
  fc.assert(
    fc.property(application, application, anywhere, anywhere, (first, second, here, there) => {
      const [one, other] = [
        nameOf(here.cluster, here.namespace, first),
        nameOf(there.cluster, there.namespace, second),
      ];
      expect(one.length).toBeLessThanOrEqual(255);
      expect(one).toMatch(VALID);
      if (first !== second) expect(one).not.toBe(other);
    }),
    { numRuns: 300 },
  );
});
