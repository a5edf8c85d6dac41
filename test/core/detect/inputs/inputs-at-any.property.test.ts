import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { inputsAtAny, inputsOf } from "../../../../src/core/detect/inputs/inputs.js";
import type { Application } from "../../../../src/core/model/application.js";
import { applicationName } from "../../../../src/core/model/brand.js";
import { ChangedPaths } from "../../../../src/core/model/collections.js";
import type { InputSet } from "../../../../src/core/model/input-set.js";
import type { JsonObject } from "../../../../src/core/model/json.js";
import { FOLDERS, reaches, repositories } from "../generated-repository.js";
import { HEAD, memorySnapshot, MERGE_BASE, OWN_URL } from "../memory-snapshot.js";

const source = fc.record(
  {
    repoURL: fc.constant(OWN_URL),
    path: fc.constantFrom(...FOLDERS, "apps/web/link", ""),
    helm: fc.record({
      valueFiles: fc.array(
        fc.constantFrom("values.yaml", "../../x/values.yaml", "/lib/*.yaml", "$values/x/values.yaml", "link/*.yaml"),
        { minLength: 1, maxLength: 2 },
      ),
    }),
    kustomize: fc.record({ components: reaches }),
    directory: fc.constant<JsonObject>({ jsonnet: { libs: ["lib"] } }),
  },
  { requiredKeys: ["repoURL", "path"] },
);
const definition = fc
  .record({
    sources: fc.array(source, { minLength: 1, maxLength: 2 }),
    paths: fc.constantFrom(undefined, ".", "/lib;../api", "/x/*.yaml"),
    plugin: fc.boolean(),
  })
  .map(({ sources, paths, plugin }): Application & { readonly sourceTypes: readonly string[] } => ({
    name: applicationName("web"),
    resourceName: "web",
    namespace: undefined,
    project: "default",
    labels: {},
    annotations: paths === undefined ? {} : { "argocd.argoproj.io/manifest-generate-paths": paths },
    spec: { sources: [...sources, { repoURL: OWN_URL, ref: "values" }] },
    sourceTypes: plugin && sources.length > 1 ? ["Plugin"] : [],
  }));

/** The parts as a set: one that both commits give counts once. */
function parts(inputs: InputSet): ReadonlySet<string> {
  return new Set(inputs.map((part) => JSON.stringify(part)));
}

test("inputs are those of both commits, also when the second commit's are not looked for", async () => {
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(repositories, definition, async ({ base, head }, application) => {
      const positions = [1, 2, 3].slice(
        0,
        Array.isArray(application.spec.sources) ? application.spec.sources.length : 0,
      );
      const snapshot = memorySnapshot(base, head);
      const changedPaths = await snapshot.changedPaths(MERGE_BASE, HEAD);
      const before = await inputsOf(application, positions, memorySnapshot(base), MERGE_BASE);
      const after = await inputsOf(application, positions, memorySnapshot(head), HEAD);
      const difference = { to: HEAD, changed: new ChangedPaths(changedPaths) };
      const either = await inputsAtAny(application, positions, snapshot, MERGE_BASE, difference);
      expect(parts(either)).toEqual(parts([...before, ...after]));
      if (changedPaths.length > 0 && either.length === before.length) taken += 1;
    }),
    { numRuns: 300 },
  );
  // Worth something only if the way that is checked is taken, which about one in ten are.
  expect(taken).toBeGreaterThan(5);
});
