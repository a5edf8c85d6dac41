import { expect, test } from "@jest/globals";
import type { Files } from "../memory-snapshot.js";
import { inputs, single, touched } from "../read-inputs.js";

const SUBMODULE = { kind: "submodule" } as const;
const chart = "dependencies: [{name: l, repository: 'file://../../vendor/lib/chart'}]";

test.each<[string, Files, string]>([
  ["inside the path", { "apps/web/sub": SUBMODULE }, "apps/web/sub"],
  ["the path itself", { "apps/web": SUBMODULE }, "apps/web"],
  ["above the path", { apps: SUBMODULE }, "apps"],
  [
    "that holds a base",
    { "vendor/lib": SUBMODULE, "apps/web/kustomization.yaml": "resources: [../../vendor/lib/base]" },
    "vendor/lib",
  ],
  ["that holds a chart", { "vendor/lib": SUBMODULE, "apps/web/Chart.yaml": chart }, "vendor/lib"],
  [
    "that a link leads into",
    { "vendor/lib": SUBMODULE, "apps/web/l": { kind: "symlink", target: "../../vendor/lib/x" } },
    "vendor/lib",
  ],
])("a submodule %s counts by its pointer and by where it comes from", async (_, files, pointer) => {
  const changed = [pointer, ".gitmodules", "vendor/other"];
  expect(await touched(files, single("apps/web"), changed)).toEqual([pointer, ".gitmodules"]);
  expect((await inputs(files, single("apps/web"))).some(({ remote }) => remote)).toBe(true);
});

test("a submodule elsewhere does not count", async () => {
  const files = { "vendor/lib": SUBMODULE, "apps/web/cm.yaml": "a: 1" };
  expect(await touched(files, single("apps/web"), ["vendor/lib"])).toEqual([]);
  expect(await inputs(files, single("apps/web"))).toMatchObject([{ remote: false }]);
});

test("very many submodules elsewhere take no time", async () => {
  const submodules = Object.fromEntries(Array.from({ length: 150_000 }, (_, at) => [`sub/${at}`, SUBMODULE]));
  const resources = Array.from({ length: 1900 }, (_, at) => `../x${at}`);
  const files = { ...submodules, "a/kustomization.yaml": `resources: [${resources.join(", ")}]` };
  const before = process.cpuUsage();
  expect(await inputs(files, single("a"))).toMatchObject([{ whole: undefined, remote: true }]);
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(4); // seconds of our own, however busy the machine is
});
