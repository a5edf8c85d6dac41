import fc from "fast-check";
import type { Files } from "./memory-snapshot.js";

/** Folders of a generated repository; any of them can be a symbolic link or a submodule instead. */
export const FOLDERS = ["apps/web", "apps/api", "lib", "lib/chart", "x"] as const;
const REACHES = [
  "deploy.yaml",
  "../api",
  "../../lib",
  "../../lib/chart",
  "../../x/values.yaml",
  "../../gone",
  "link",
  "link/deploy.yaml",
  "../web/link/kustomization.yaml",
] as const;
const TARGETS = [
  "../api",
  "../../lib",
  "../../lib/../x",
  "../../x/link",
  "../..",
  "../gone",
  "deploy.yaml",
  "/etc",
  "link",
] as const;

const folder = fc.constantFrom(...FOLDERS);
/** Paths that files name, seen from a folder two levels down. */
export const reaches = fc.array(fc.constantFrom(...REACHES), { maxLength: 3 });
const text = fc.constantFrom("one: 1\n", "two: 2\n");

/** A file's name and what it says; the names are those that decide what else is read. */
const file = fc.oneof(
  fc.tuple(fc.constantFrom("deploy.yaml", "values.yaml"), text),
  fc.tuple(
    fc.constantFrom("kustomization.yaml", "Kustomization"),
    fc.tuple(reaches, reaches).map(([resources, components]) => JSON.stringify({ resources, components })),
  ),
  fc.tuple(
    fc.constantFrom("Chart.yaml", "requirements.yaml", "link/Chart.yaml"),
    reaches.map((paths) => {
      const dependencies = paths.map((path) => ({ name: "part", version: "1.0.0", repository: `file://${path}` }));
      return JSON.stringify({ name: "chart", version: "1.0.0", dependencies });
    }),
  ),
  fc.tuple(
    fc.constantFrom("main.jsonnet", "a.libsonnet"),
    fc.constantFrom("../../lib/a.libsonnet", "a.libsonnet", "link/a.libsonnet").map((path) => `import '${path}'`),
  ),
  fc.tuple(
    fc.constantFrom(".argocd-source.yaml", ".argocd-source-web.yaml"),
    fc
      .tuple(reaches, reaches)
      .map(([valueFiles, components]) => JSON.stringify({ helm: { valueFiles }, kustomize: { components } })),
  ),
  fc.tuple(
    fc.constant("link"),
    fc.constantFrom(...TARGETS).map((target) => ({ kind: "symlink", target }) as const),
  ),
  fc.tuple(fc.constantFrom("kustomization.yaml", "Chart.yaml"), fc.constantFrom("{", "{{ template }}")),
);
const entry = fc.oneof(
  { weight: 9, arbitrary: fc.tuple(folder, file).map(([at, [name, content]]) => [`${at}/${name}`, content] as const) },
  {
    weight: 1,
    arbitrary: fc.tuple(
      folder,
      fc.oneof(
        fc.constant({ kind: "submodule" } as const),
        fc.constantFrom("../lib", "x", "../x", "lib/../x").map((target) => ({ kind: "symlink", target }) as const),
      ),
    ),
  },
);
const edit = fc.oneof(
  { weight: 2, arbitrary: entry },
  { weight: 1, arbitrary: entry.map(([path]) => [path, undefined] as const) },
);

/** What is in something that is no folder is left out. */
function filesOf(entries: readonly (readonly [string, Files[string] | undefined])[]): Files {
  const files = new Map<string, Files[string]>();
  for (const [path, content] of entries) {
    if (content === undefined) files.delete(path);
    else files.set(path, content);
  }
  return Object.fromEntries(
    [...files].filter(([path]) => ![...files.keys()].some((one) => path.startsWith(`${one}/`))),
  );
}

/** A small repository before and after some edits, in which much leads to something else. */
export const repositories = fc
  .tuple(fc.array(entry, { minLength: 4, maxLength: 16 }), fc.array(edit, { minLength: 1, maxLength: 3 }))
  .map(([before, edits]) => ({ base: filesOf(before), head: filesOf([...before, ...edits]) }));
