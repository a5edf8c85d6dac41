import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { TYPOS } from "./chart-typos.js";
import {
  BAD_VALUES,
  EVERYTHING,
  GOOD_VALUES,
  inProductsWords,
  SCALED,
  secretsOf,
  SINGLE,
  WITH_REDIS,
} from "./chart-values.js";
import type { ChartValues } from "./chart-values.js";
import { checkInPod } from "./check-in-pod.js";
import { brokenReferences, spareSeconds } from "./cross-references.js";
import { ofKind } from "./kubernetes-objects.js";
import { configText, lintChart, only, renderChart, renderTest, templateChart } from "./rendering.js";

const BY_HAND = { secrets: ["svc", "svc-secrets", "svc-files"], configMaps: ["company-ca", "svc-rules"] };

interface SomeConfig {
  readonly server: { readonly shutdown_grace?: string };
  readonly kvstore?: { readonly address?: string };
}

function configOf(values: ChartValues): SomeConfig {
  return parse(configText(renderChart(values))) as SomeConfig;
}

describe.each(GOOD_VALUES)("the chart with %s", (_, values) => {
  test("passes Helm's own look", () => {
    expect(lintChart(values)).toMatchObject({ ok: true });
  });

  test("makes the same manifests of the products' names and of the specification's", () => {
    const { ok, stdout } = templateChart(inProductsWords(values));
    expect(ok).toBe(true);
    expect(stdout).toBe(templateChart(values).stdout);
  });

  test("refers to nothing that is not there", () => {
    expect(brokenReferences(renderChart(values), BY_HAND)).toEqual([]);
  });

  test("carries a svc.yaml that svc takes, with the variables and files that its pods get", () => {
    expect(checkInPod(renderChart(values))).toEqual({ lines: ["svc.yaml: valid"], exitCode: 0 });
  });

  test("has a secret's value nowhere but in a Secret", () => {
    const shown = JSON.stringify(renderChart(values).filter(({ kind }) => kind !== "Secret"));
    for (const value of Object.values(secretsOf(values))) expect(shown).not.toContain(value);
    expect(configText(renderChart(values))).toContain("token: ${");
  });

  test("gives a pod more time to end than svc takes", () => {
    const grace = configOf(values).server.shutdown_grace ?? "25s";
    expect(spareSeconds(only(renderChart(values), "Deployment"), grace)).toBeGreaterThanOrEqual(5);
  });

  test("never has two processes without Redis, not even while one replaces the other", () => {
    const { replicas, strategy } = only(renderChart(values), "Deployment").spec;
    if (configOf(values).kvstore?.address === undefined) expect([replicas, strategy.type]).toEqual([1, "Recreate"]);
    else expect(strategy.type).toBe("RollingUpdate");
  });
});

describe("what values do", () => {
  const kinds = (values: ChartValues) =>
    renderChart(values)
      .map(({ kind }) => kind)
      .sort();

  test("one process needs four objects", () => {
    expect(kinds(SINGLE)).toEqual(["ConfigMap", "Deployment", "Service", "ServiceAccount"]);
  });

  test("Redis brings a second process and a budget, an ingress its address", () => {
    const objects = renderChart(WITH_REDIS);
    expect(only(objects, "Deployment").spec.replicas).toBe(2);
    expect(only(objects, "PodDisruptionBudget").spec.maxUnavailable).toBe(1);
    expect(configOf(WITH_REDIS)).toMatchObject({
      server: { base_url: "https://svc.example.org", trust_proxy: true, data_dir: "/data" },
    });
  });

  test("what is set in config is not overruled", () => {
    const server = { base_url: "https://other.example.org", trust_proxy: false };
    const config = { ...(WITH_REDIS.config as ChartValues), server };
    expect(configOf({ ...WITH_REDIS, config })).toMatchObject({ server });
  });

  test("everything on makes every object, under the chosen name", () => {
    expect(kinds(EVERYTHING)).toEqual([
      "ConfigMap",
      "Deployment",
      "Ingress",
      "NetworkPolicy",
      "PodDisruptionBudget",
      "PrometheusRule",
      "Service",
      "Service",
      "ServiceAccount",
      "ServiceMonitor",
    ]);
    expect(only(renderChart(EVERYTHING), "Deployment").metadata.name).toBe("gate");
  });

  test("the network policy lets out what config names, and Argo CD's port in its namespace alone", () => {
    const { egress = [], ingress } = only(renderChart(EVERYTHING), "NetworkPolicy").spec;
    const open = egress.filter(({ to }) => to === undefined).flatMap(({ ports }) => ports.map(({ port }) => port));
    expect(open).toEqual([53, 53, 443, 8443, 8180, 8090, 6380, 4318]);
    expect(egress.filter(({ to }) => to !== undefined)).toEqual([
      {
        to: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "argocd" } } }],
        ports: [{ port: 8080, protocol: "TCP" }],
      },
    ]);
    expect(ingress.map(({ ports }) => ports[0]?.port)).toEqual(["http", "metrics"]);
  });

  test("the network policy takes addresses whose name or port comes from a variable", () => {
    const deployer = { server_url: "https://${ARGOCD_HOST}:8443/argo", token: "${ARGOCD_TOKEN}" };
    const hostb = { url: "http://git.example.org:${PORT}", token: "${GITLAB_TOKEN}", poll: "15s" };
    const oidc = { name: "n", issuer_url: "${ISSUER}", client_id: "svc", client_secret: "${OIDC_SECRET}" };
    const config = { deployer, hostb, auth: { oidc } };
    const { egress = [] } = only(
      renderChart({ ...SINGLE, config, networkPolicy: { enabled: true } }),
      "NetworkPolicy",
    ).spec;
    expect(egress.flatMap(({ to, ports }) => (to === undefined ? ports.map(({ port }) => port) : []))).toEqual([
      53, 53, 443, 8443, 80,
    ]);
  });

  test("the alert rules are those of deploy/monitoring", () => {
    const rules = readFileSync(new URL("../../deploy/monitoring/alerts.yaml", import.meta.url), "utf8");
    expect(only(renderChart(EVERYTHING), "PrometheusRule").spec).toEqual(parse(rules));
  });

  test("the alert rules ask for the job under which the ServiceMonitor scrapes", () => {
    const [endpoint] = only(renderChart(EVERYTHING), "ServiceMonitor").spec.endpoints;
    const rules = only(renderChart(EVERYTHING), "PrometheusRule").spec.groups.flatMap((group) => group.rules);
    const asked = rules.flatMap(({ expr }) => [...expr.matchAll(/job="([^"]+)"/g)].map(([, job]) => job));
    expect(asked.length).toBeGreaterThanOrEqual(rules.length);
    expect(new Set(asked)).toEqual(new Set([endpoint?.relabelings[0].replacement]));
  });

  test("autoscaling decides on the number of processes, at least two", () => {
    expect(only(renderChart(SCALED), "Deployment").spec.replicas).toBeUndefined();
    expect(only(renderChart(SCALED), "HorizontalPodAutoscaler").spec).toMatchObject({ minReplicas: 2, maxReplicas: 5 });
    expect(only(renderChart(SCALED), "PodDisruptionBudget").spec.maxUnavailable).toBe(1);
  });

  test("a route brings its address, as an ingress does", () => {
    expect(configOf(SCALED)).toMatchObject({ server: { base_url: "https://svc.example.org", trust_proxy: true } });
  });

  test("no hash of a secret stands in an annotation; a new secretVersion makes new pods", () => {
    const annotations = (values: ChartValues) =>
      only(renderChart(values), "Deployment").spec.template.metadata.annotations;
    const made = (value: string) => {
      const secret = { ...secretsOf(SINGLE), ARGOCD_TOKEN: value };
      return annotations({ ...SINGLE, existingSecret: "", secret });
    };
    expect(made("one value of a token")).toEqual(made("another value of a token"));
    expect(annotations({ ...SINGLE, secretVersion: "8" })).toEqual({
      ...annotations(SINGLE),
      "svc.dev/secret-version": "8",
    });
  });

  test("helm test asks the Service, from a pod that the Service does not select and no policy stops", () => {
    const test = renderTest(EVERYTHING);
    const [pod, policy] = [only(test, "Pod"), only(test, "NetworkPolicy")];
    expect(test).toHaveLength(2);
    const service = ofKind(renderChart(EVERYTHING), "Service").find(({ metadata }) => metadata.name === "gate");
    expect(pod).toMatchObject({ kind: "Pod", metadata: { annotations: { "helm.sh/hook": "test" } } });
    expect(JSON.stringify(pod)).toContain(`http://gate:${service?.spec.ports[0]?.port}/ready`);
    expect(pod.metadata.labels["app.kubernetes.io/name"]).not.toBe(service?.spec.selector["app.kubernetes.io/name"]);
    const { podSelector, ingress } = policy.spec;
    expect(podSelector.matchLabels).toEqual(service?.spec.selector);
    expect(pod.metadata.labels).toMatchObject(ingress[0]?.from[0]?.podSelector?.matchLabels ?? { a: "no policy" });
    expect(renderTest(SINGLE).map(({ kind }) => kind)).toEqual(["Pod"]);
  });

  test("a changed configuration makes new pods", () => {
    const checksum = (values: ChartValues) =>
      only(renderChart(values), "Deployment").spec.template.metadata.annotations?.["checksum/config"];
    expect(checksum({ ...WITH_REDIS, ingress: { enabled: false } })).not.toBe(checksum(WITH_REDIS));
    expect(checksum({ ...WITH_REDIS, replicas: 3 })).toBe(checksum(WITH_REDIS));
  });
});

test.each(TYPOS)("the chart refuses %s in svc.yaml", (_, sections, sentence) => {
  const config = { ...(SINGLE.config as ChartValues), ...sections };
  const { ok, stderr } = templateChart({ ...SINGLE, config });
  expect(ok).toBe(false);
  expect(stderr).toMatch(sentence);
});

test.each(BAD_VALUES)("the chart refuses %s", (_, values, sentence) => {
  const { ok, stderr } = templateChart(values);
  expect(ok).toBe(false);
  expect(stderr).toMatch(sentence);
  expect(stderr).not.toContain("plain-secret");
});
