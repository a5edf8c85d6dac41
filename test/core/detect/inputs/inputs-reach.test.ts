import { posix } from "node:path";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { inputFingerprint, touchedPaths, touches } from "../../../../src/core/detect/inputs/input-set.js";
import { inputsOf } from "../../../../src/core/detect/inputs/inputs.js";
import { ChangedPaths } from "../../../../src/core/model/collections.js";
import { type Files, HEAD, memorySnapshot } from "../memory-snapshot.js";
import { single } from "../read-inputs.js";

/** How a kustomization names a file or a directory; the path is relative to it. */
const FILE_FIELDS: readonly ((path: string) => string)[] = [
  (path) => `resources: ['${path}']`,
  (path) => `patches: [{path: '${path}'}]`,
  (path) => `patchesStrategicMerge: ['${path}']`,
  (path) => `replacements: [{path: '${path}'}]`,
  (path) => `configMapGenerator: [{name: c, files: ['key=${path}']}]`,
  (path) => `secretGenerator: [{name: c, envs: ['${path}']}]`,
  (path) => `helmCharts: [{name: c, valuesFile: '${path}'}]`,
];
const DIRECTORY_FIELDS: readonly ((path: string) => string)[] = [
  (path) => `resources: ['${path}']`,
  (path) => `bases: ['./${path}']`,
  (path) => `components: ['${path}/']`,
];
const NAMES = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

interface GeneratedNode {
  readonly kind: "kustomize" | "helm";
  readonly parent: string;
  /** Where one of its files stands: in its directory, in that of others, or behind a link. */
  readonly file: "inside" | "outside" | "linked";
  readonly field: number;
  readonly name: number;
  readonly edges: readonly number[];
}

const nodes = fc.array(
  fc.record<GeneratedNode>({
    kind: fc.constantFrom("kustomize", "kustomize", "helm"),
    parent: fc.constantFrom("", "a/", "a/b/", "c/d/e/"),
    file: fc.constantFrom("inside", "outside", "linked"),
    field: fc.nat(FILE_FIELDS.length - 1),
    name: fc.nat(2),
    edges: fc.array(fc.nat(7), { maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 8 },
);

const to = (node: GeneratedNode, index: number) => `${node.parent}n${index}`;

/** A repository of these nodes, and the files that are reached from the first one. */
function build(all: readonly GeneratedNode[]): { readonly files: Files; readonly reached: ReadonlySet<string> } {
  const files: Record<string, Files[string]> = { "unrelated/x.yaml": "a: 1" };
  const own = all.map((node, index) => writeNode(node, index, all, files));
  const reached = new Set<string>();
  const seen = new Set<number>();
  const waiting = [0];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const node = all[next];
    if (node === undefined || seen.has(next)) continue;
    seen.add(next);
    for (const file of own[next] ?? []) reached.add(file);
    waiting.push(...followed(node, all));
  }
  return { files, reached };
}

/** Charts depend on charts only; a kustomization may name a chart's directory, whose dependencies then count. */
function followed(node: GeneratedNode, all: readonly GeneratedNode[]): readonly number[] {
  return node.edges.filter(
    (edge) => all[edge] !== undefined && (node.kind === "kustomize" || all[edge].kind === "helm"),
  );
}

/** The files that it reads by itself. */
function writeNode(
  node: GeneratedNode,
  index: number,
  all: readonly GeneratedNode[],
  files: Record<string, Files[string]>,
): readonly string[] {
  const directory = to(node, index);
  const relative = (path: string) => posix.relative(directory, path);
  const targets = followed(node, all).flatMap((edge) => {
    const target = all[edge];
    return target === undefined ? [] : [relative(to(target, edge))];
  });
  if (node.kind === "helm") {
    const dependencies = targets.filter((path) => path !== "").map((path) => `{name: d, repository: 'file://${path}'}`);
    files[`${directory}/Chart.yaml`] = `name: c\ndependencies: [${dependencies.join(", ")}]\n`;
    files[`${directory}/templates/t.yaml`] = "a: 1";
    return [`${directory}/Chart.yaml`, `${directory}/templates/t.yaml`];
  }
  const file = node.file === "outside" ? `files/f${index}.yaml` : `${directory}/f.yaml`;
  const real = node.file === "linked" ? `real/f${index}.yaml` : file;
  if (node.file === "linked") files[file] = { kind: "symlink", target: relative(real) };
  files[real] = "a: 1";
  const kustomization = `${directory}/${NAMES[node.name] ?? ""}`;
  // Each in a document of its own, so that fields can repeat.
  const documents = [
    FILE_FIELDS[node.field]?.(relative(file)) ?? "",
    ...targets.filter((path) => path !== "").map((path, at) => DIRECTORY_FIELDS[at % 3]?.(path) ?? ""),
  ];
  files[kustomization] = documents.join("\n---\n");
  return [kustomization, file, real];
}

test("editing or renaming any file that is reached touches the inputs and changes the fingerprint", async () => {
  await fc.assert(
    fc.asyncProperty(nodes, fc.nat(), async (all, pick) => {
      const { files, reached } = build(all);
      const [first] = all;
      const of = single(first === undefined ? "" : to(first, 0));
      const snapshot = memorySnapshot(files);
      const inputs = await inputsOf(of, [1], snapshot, HEAD);
      expect(inputs).toMatchObject([{ whole: undefined }]);
      for (const file of reached) expect(touches(inputs, new ChangedPaths([file]))).toBe(true);
      const untouched = ["unrelated/x.yaml", "unrelated", "z"];
      expect(touchedPaths(inputs, new ChangedPaths(untouched))).toEqual([]);

      const edited = [...reached][pick % reached.size] ?? "";
      const content = files[edited];
      const rest = Object.fromEntries(Object.entries(files).filter(([path]) => path !== edited));
      const changes: readonly Files[] = [
        { ...rest, [`${edited}.old`]: content ?? "" },
        { ...files, [edited]: typeof content === "string" ? `${content}\n# edited` : "a: 2" },
      ];
      const before = inputFingerprint(inputs, await snapshot.tree(HEAD));
      for (const change of changes) {
        const after = memorySnapshot(change);
        const changed = await inputsOf(of, [1], after, HEAD);
        expect(inputFingerprint(changed, await after.tree(HEAD))).not.toBe(before);
      }
      const elsewhere = memorySnapshot({ ...files, "unrelated/x.yaml": "a: 2", "unrelated/y": "" });
      const same = await inputsOf(of, [1], elsewhere, HEAD);
      expect(inputFingerprint(same, await elsewhere.tree(HEAD))).toBe(before);
    }),
    { numRuns: 100 },
  );
});
