import { describe, expect, test } from "@jest/globals";
import { identify } from "../../../src/core/diff/manifest-key.js";
import type { Manifest } from "../../../src/core/model/application.js";
import { jsonText } from "../../../src/core/model/json.js";
import type { PreviewContent } from "../../../src/core/model/plan/plan.js";
import type { LiveResource, LiveState } from "../../../src/core/ports/deployer.js";
import { removalTask } from "../../../src/core/render/preview.js";
import { object, withOption } from "./resource.js";

function managed(live: Manifest, more: Partial<LiveResource> = {}): LiveResource {
  return { ...identify(live, "shop"), live, whole: live, lastApplied: undefined, hook: false, copied: false, ...more };
}

interface Deletion {
  readonly cascades?: boolean;
  readonly syncOptions?: readonly string[];
}

async function removed(
  resources: readonly LiveResource[],
  { cascades = true, syncOptions = [] }: Deletion = {},
): Promise<PreviewContent> {
  const state = jsonText<LiveState>({ resources, stale: undefined });
  return (await removalTask.run({ state, cascades, syncOptions, redact: [], sensitiveKinds: [] })).content;
}

async function diffOf(...objects: readonly Manifest[]) {
  return diffWith([], ...objects);
}

async function diffWith(syncOptions: readonly string[], ...objects: readonly Manifest[]) {
  const live = objects.map((one) => managed(one));
  const content = await removed(live, { syncOptions });
  if (content.kind !== "compared") throw new Error(content.kind);
  return content.diff;
}

const CLAIM = object("v1/PersistentVolumeClaim", "data");

describe("what the deletion of an application does to its objects", () => {
  test.each<[string, Manifest, string]>([
    ["a volume claim", CLAIM, "deletes PersistentVolumeClaim shop/data: its data is lost unless"],
    ["a namespace", object("v1/Namespace", "x"), "deletes Namespace x: it deletes everything in it"],
    [
      "a child with the finalizer",
      object("argoproj.io/v1alpha1/Application", "c", {}, { finalizers: ["resources-finalizer.argocd.argoproj.io"] }),
      "deletes argoproj.io/Application shop/c: it deletes everything that this Application deployed",
    ],
  ])("%s is a danger of every deletion, with or without prune", async (_, one, text) => {
    const { deleted, cautions, dangers } = await diffOf(object("v1/ConfigMap", "a"), one);
    expect(deleted).toBe(2);
    expect(cautions).toEqual([expect.stringContaining(text)]);
    expect(dangers).toEqual([{ what: text.slice(0, text.indexOf(":")), pruning: false }]);
  });

  test.each<[string, Manifest, string]>([
    ["Delete=false", withOption(CLAIM, "Delete=false"), "because of Delete=false"],
    ["one of several options", withOption(CLAIM, "Prune=false, Delete=false"), "because of Delete=false"],
    [
      "Helm's policy",
      { ...CLAIM, metadata: { name: "data", annotations: { "helm.sh/resource-policy": "keep" } } },
      "because of helm.sh/resource-policy: keep",
    ],
    [
      "a definition of custom resources",
      object("apiextensions.k8s.io/v1/CustomResourceDefinition", "carts"),
      "Argo CD deletes no definition of custom resources",
    ],
  ])("%s keeps an object, which is named and not counted", async (_, one, text) => {
    const { deleted, resources, cautions, dangers } = await diffOf(one);
    expect([deleted, resources.length]).toEqual([0, 0]);
    expect(cautions).toEqual([expect.stringContaining(text)]);
    expect(dangers).toEqual([]);
  });

  test.each([
    ["Prune=false", 1, 1],
    ["Delete=confirm", 1, 2],
    ["Prune=confirm", 1, 2],
  ])("%s does not keep a claim: %i is deleted, with %i remarks", async (option, deleted, remarks) => {
    const found = await diffOf(withOption(CLAIM, option));
    expect([found.deleted, found.cautions.length]).toEqual([deleted, remarks]);
  });

  test("a child with Prune=false goes with its parent, too", async () => {
    const child = withOption(object("argoproj.io/v1alpha1/Application", "c"), "Prune=false");
    expect((await diffOf(child)).children.deleted).toEqual(["c"]);
  });

  test("options of the application hold for objects that do not say otherwise", async () => {
    const [kept, waiting] = [await diffWith(["Delete=false"], CLAIM), await diffWith(["Prune=confirm"], CLAIM)];
    expect([kept.deleted, kept.dangers]).toEqual([0, []]);
    expect(waiting.cautions.at(-1)).toContain(
      "until somebody confirms its deletion in Argo CD (Prune=confirm, from version 3.4 on)",
    );
    const { cautions } = await diffOf(withOption(CLAIM, "Delete=confirm"));
    expect(cautions.at(-1)).toContain("(Delete=confirm, from version 2.14 on)");
    expect(await diffWith(["Delete=false"], withOption(CLAIM, "Delete=true"))).toMatchObject({ deleted: 1 });
  });

  test("hooks, and what is not in the cluster, are not deleted", async () => {
    const content = await removed([
      managed(object("batch/v1/Job", "a"), { hook: true }),
      managed(object("batch/v1/Job", "b", {}, { annotations: { "argocd.argoproj.io/hook": "PostSync" } })),
      managed(object("v1/ConfigMap", "c"), { live: undefined }),
    ]);
    expect(content).toMatchObject({ kind: "compared", diff: { deleted: 0, resources: [] } });
  });

  test("values of Secrets are not shown, and neither is what Kubernetes keeps in an object", async () => {
    const secret = object("v1/Secret", "s", { data: { token: "aHVudGVy" } }, { uid: "12345" });
    const { resources } = await diffOf(secret);
    expect(resources.map(({ title }) => title)).toEqual(["Secret shop/s"]);
    expect(JSON.stringify(resources)).not.toMatch(/aHVudGVy|12345/);
    expect(JSON.stringify(resources)).toContain("token");
  });

  test("says so where Argo CD did not compare the application anew", async () => {
    const state = jsonText<LiveState>({ resources: [managed(CLAIM)], stale: "it is old" });
    const { content } = await removalTask.run({
      state,
      cascades: true,
      syncOptions: [],
      redact: [],
      sensitiveKinds: [],
    });
    expect(content).toMatchObject({ diff: { cautions: [expect.stringContaining("deletes"), "it is old"] } });
  });

  test("without the finalizer everything stays, sorted by name", async () => {
    const objects = [managed(object("v1/Secret", "s")), managed(CLAIM), managed(object("v1/ConfigMap", "c"))];
    expect(await removed(objects, { cascades: false })).toEqual({
      kind: "left-behind",
      objects: ["ConfigMap shop/c", "PersistentVolumeClaim shop/data", "Secret shop/s"],
    });
  });
});
