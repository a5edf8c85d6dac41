import { describe, expect, test } from "@jest/globals";
import { diffTask } from "../../../src/core/diff/diff-task.js";
import { readIgnoreRules } from "../../../src/core/diff/live/live-objects.js";
import type { Manifest } from "../../../src/core/model/application.js";
import { revision } from "../../../src/core/model/brand.js";
import { jsonText } from "../../../src/core/model/json.js";

const BASE = revision("0123456789abcdef0123456789abcdef01234567");
const HEAD = revision("fedcba9876543210fedcba9876543210fedcba98");

async function diff(base: readonly Manifest[], head: readonly Manifest[]) {
  const output = await diffTask.run({
    base: jsonText(base),
    head: jsonText(head),
    destinationNamespace: "shop",
    baseNamespace: "shop",
    syncOptions: [],
    placeholders: { base: BASE, head: HEAD },
    redact: [],
    secretsInGit: { changed: [], files: [] },
    sensitiveKinds: [],
    ignored: readIgnoreRules({}, {}),
    answers: {},
    live: undefined,
  });
  return output.diff;
}

describe("objects that differ by the commit alone", () => {
  const config = (name: string, value: string, namespace?: string): Manifest => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    data: { commit: value },
  });

  test("are named, with the namespace if it is not the application's", async () => {
    const sides = (commit: string) => [config("a", commit), config("b", `web:${commit.slice(0, 8)}`, "other")];
    const found = await diff(sides(BASE), sides(HEAD));
    expect(found).toMatchObject({ resources: [], onlyCommit: ["ConfigMap a", "ConfigMap other/b"] });
  });

  test("are not those that are equal, that differ in more, or that are new", async () => {
    const more = { ...config("b", HEAD), data: { commit: HEAD, more: "1" } };
    const found = await diff([config("a", "1"), config("b", BASE)], [config("a", "1"), more, config("c", HEAD)]);
    expect(found.onlyCommit).toEqual([]);
    expect(found.resources.map(({ title }) => title)).toEqual(["ConfigMap shop/b", "ConfigMap shop/c"]);
  });
});
