import { describe, expect, test } from "@jest/globals";
import { type ApplicationSpec, digestOf } from "../../../src/core/model/application.js";
import { definitionChange } from "../../../src/core/survey/members.js";

const SERVER = "https://kubernetes.default.svc";
const BEFORE = {
  project: "default",
  source: { repoURL: "https://git.test/deploy", path: "dev", targetRevision: "main" },
  destination: { server: SERVER, namespace: "dev" },
};
const source = BEFORE.source;
const other = { repoURL: "https://git.test/other", path: "x", targetRevision: "main" };

describe("what moves in a definition", () => {
  test.each<[string, ApplicationSpec, readonly string[]]>([
    ["another path", { source: { ...source, path: "prod" } }, []],
    ["another revision", { source: { ...source, targetRevision: "v2" } }, []],
    ["another project", { project: "shop" }, ["project: default > shop"]],
    [
      "another namespace",
      { destination: { server: SERVER, namespace: "prod" } },
      [`destination: ${SERVER}/dev > ${SERVER}/prod`],
    ],
    ["another cluster", { destination: { name: "west", namespace: "dev" } }, [`destination: ${SERVER}/dev > west/dev`]],
    ["the same cluster by its name", { destination: { name: "in-cluster", namespace: "dev" } }, []],
    [
      "another repository",
      { source: { ...source, repoURL: other.repoURL } },
      [`repository: ${source.repoURL} > ${other.repoURL}`],
    ],
    [
      "a second source of another repository",
      { source: undefined, sources: [source, other] },
      [`repository: ${source.repoURL} > ${other.repoURL}`],
    ],
    [
      "a second source of the same repository",
      { source: undefined, sources: [source, { ...source, path: "more" }] },
      [],
    ],
    ["auto-sync by an empty block", { syncPolicy: { automated: {} } }, ["auto-sync: off > on"]],
    [
      "auto-sync that is off on newer servers only",
      { syncPolicy: { automated: { enabled: false } } },
      ["auto-sync: off > on"],
    ],
    ["a sync option", { syncPolicy: { syncOptions: ["Replace=true"] } }, []],
    ["nothing but the order of keys", { destination: { namespace: "dev", server: SERVER } }, []],
  ])("%s", (_what, more, moves) => {
    const after = { ...BEFORE, ...more };
    const change = definitionChange(after, [BEFORE]);
    const found = change.kind === "changed" ? change.moves.map(({ what, from, to }) => `${what}: ${from} > ${to}`) : [];
    expect(found).toEqual(moves);
  });

  test("against the base and against what runs, each told once", () => {
    const moved = { ...BEFORE, project: "shop" };
    expect(definitionChange(BEFORE, [BEFORE, BEFORE])).toEqual({ kind: "unchanged" });
    expect(definitionChange(BEFORE, [BEFORE, moved])).toEqual({
      kind: "changed",
      moves: [{ what: "project", from: "shop", to: "default" }],
    });
    expect(definitionChange(BEFORE, [moved, moved])).toMatchObject({ moves: [{ what: "project" }] });
  });

  test("auto-sync that was on before does not start", () => {
    const on = (automated: ApplicationSpec) => ({ ...BEFORE, syncPolicy: { automated } });
    expect(definitionChange(on({ prune: true }), [on({})])).toEqual({ kind: "changed", moves: [] });
    expect(definitionChange(on({ enabled: true }), [on({ enabled: false })])).toMatchObject({
      moves: [{ what: "auto-sync" }],
    });
  });

  test("a digest ignores what Argo CD fills in, and nothing else", () => {
    expect(digestOf({ ...BEFORE, project: "" })).toBe(digestOf(BEFORE));
    expect(digestOf({ ...BEFORE, source: { ...source, helm: { parameters: [{ name: "a", value: "1" }] } } })).not.toBe(
      digestOf(BEFORE),
    );
  });
});
