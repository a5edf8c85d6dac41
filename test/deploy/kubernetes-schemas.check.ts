import { describe, expect, test } from "@jest/globals";
import { EVERYTHING, SCALED, SINGLE } from "./chart-values.js";
import type { ChartValues } from "./chart-values.js";
import { KUBERNETES, schemaProblems } from "./kubernetes-schemas.js";
import { buildManifests, only, renderChart, renderTest } from "./rendering.js";

describe.each(KUBERNETES)("Kubernetes %s", (version) => {
  test.each<readonly [string, ChartValues]>([
    ["one process", SINGLE],
    ["everything on", EVERYTHING],
    ["autoscaling and a route", SCALED],
  ])("takes what the chart makes, with %s", (_, values) => {
    expect(schemaProblems(version, [...renderChart(values), ...renderTest(values)])).toEqual([]);
  });

  test.each(["base", "overlays/example"])("takes the manifests in %s", (folder) => {
    expect(schemaProblems(version, buildManifests(folder))).toEqual([]);
  });

  test("does not take a misspelt field or a wrong type", () => {
    const deployment = only(renderChart(SINGLE), "Deployment");
    const wrong = { ...deployment, spec: { ...deployment.spec, replicas: 1.5, replica: 1 } };
    const problems = schemaProblems(version, [wrong]).join("\n");
    expect(problems).toContain('{"additionalProperty":"replica"}');
    expect(problems).toContain("/spec/replicas must be integer");
  });
});
