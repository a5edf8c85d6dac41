import { describe, expect, test } from "@jest/globals";
import { diffTask } from "../../../src/core/diff/diff-task.js";
import type { SecretClaim, SecretsInGit } from "../../../src/core/diff/secret-claims.js";
import type { Manifest } from "../../../src/core/model/application.js";
import { revision } from "../../../src/core/model/brand.js";
import { jsonText } from "../../../src/core/model/json.js";

const MASK = "++++++++";
const BASE = revision("0123456789abcdef0123456789abcdef01234567");
const HEAD = revision("fedcba9876543210fedcba9876543210fedcba98");

function secret(keys: readonly string[], name = "db", annotations: Record<string, string> = {}): Manifest {
  const data = Object.fromEntries(keys.map((key) => [key, MASK]));
  return { apiVersion: "v1", kind: "Secret", metadata: { name, annotations }, data };
}

function claim(more: Partial<SecretClaim> = {}): SecretClaim {
  const keys = ["password", "user"];
  const files = ["apps/web/db.yaml"];
  return {
    namespace: "shop",
    name: "db",
    hashed: false,
    base: keys,
    head: keys,
    changed: ["password"],
    kept: [],
    files,
    ...more,
  };
}

async function diff(base: readonly Manifest[], head: readonly Manifest[], secretsInGit: SecretsInGit) {
  const output = await diffTask.run({
    base: jsonText(base),
    head: jsonText(head),
    destinationNamespace: "shop",
    baseNamespace: "shop",
    syncOptions: [],
    placeholders: { base: BASE, head: HEAD },
    redact: [],
    secretsInGit,
    live: undefined,
  });
  return output.diff;
}

function told(...claims: readonly SecretClaim[]): SecretsInGit {
  return { kind: "told", claims, files: ["apps/web/db.yaml", "apps/web/other.yaml"] };
}
const BOTH = ["password", "user"];
const UNSURE = { name: "shop/db", keys: undefined, files: ["apps/web/db.yaml", "apps/web/other.yaml"] };

describe("Secrets whose values Argo CD hides", () => {
  test("a value that changes in git makes its Secret a change, by key", async () => {
    const found = await diff([secret(BOTH)], [secret(BOTH)], told(claim()));
    expect(found).toMatchObject({ updated: 1, resources: [{ title: "Secret shop/db" }], hiddenSecrets: true });
    expect(found.resources[0]?.diff).toContain(
      "-  password: (hidden, before the change)\n+  password: (hidden, after the change)\n   user: (hidden, unchanged)",
    );
    const keys = { created: [], changed: ["password"], deleted: [] };
    expect(found.secrets).toEqual([{ name: "shop/db", keys, files: ["apps/web/db.yaml"] }]);
  });

  test("keys that come and go are told beside those that change", async () => {
    const found = await diff(
      [secret(["old", "password"])],
      [secret(["new", "password"])],
      told(claim({ base: ["old", "password"], head: ["new", "password"] })),
    );
    expect(found.secrets[0]?.keys).toEqual({ created: ["new"], changed: ["password"], deleted: ["old"] });
    expect(found.updated).toBe(1);
  });

  test("one that no changed file holds, or whose values stay, is not mentioned", async () => {
    const same = claim({ name: "other", changed: [] });
    const sides = [secret(BOTH), secret(BOTH, "other")];
    expect(await diff(sides, sides, told(same))).toMatchObject({ secrets: [], resources: [], hiddenSecrets: true });
  });

  test("where git tells nothing, each of them may change", async () => {
    const { files } = UNSURE;
    expect(await diff([secret(BOTH)], [secret(BOTH)], { kind: "untold", files })).toMatchObject({
      secrets: [UNSURE],
      resources: [],
      hiddenSecrets: true,
    });
  });

  test("one without values, or on one side alone, hides nothing", async () => {
    const untold = { kind: "untold", files: [] } as const;
    expect((await diff([secret([])], [secret([])], untold)).secrets).toEqual([]);
    expect((await diff([], [secret(BOTH)], untold)).secrets).toEqual([]);
    expect((await diff([secret(BOTH)], [], untold)).secrets).toEqual([]);
  });

  test("a generated name ends in a hash: the keys are told although one Secret replaces the other", async () => {
    const found = await diff(
      [secret(BOTH, "db-7c4mt2b9kd")],
      [secret(BOTH, "db-5h8f6kk2tg")],
      told(claim({ hashed: true })),
    );
    expect(found).toMatchObject({
      created: 1,
      deleted: 1,
      secrets: [{ name: "shop/db", keys: { changed: ["password"] } }],
    });
  });

  test.each<[string, readonly Manifest[], readonly Manifest[], readonly SecretClaim[]]>([
    ["has other keys than git", [secret(BOTH)], [secret(["password"])], [claim()]],
    ["is rendered twice", [secret(BOTH)], [secret(BOTH), secret(BOTH)], [claim()]],
    ["is only at the head in the changed files", [secret(BOTH)], [secret(BOTH)], [claim({ base: undefined })]],
    ["is claimed twice", [secret(BOTH)], [secret(BOTH)], [claim(), claim({ changed: [] })]],
    ["stands beside one that is not rendered", [secret(BOTH)], [secret(BOTH)], [claim(), claim({ name: "gone" })]],
    ["has a masked annotation", [secret(BOTH)], [secret(BOTH, "db", { note: MASK })], [claim()]],
    [
      "keeps the hash of its name although git differs",
      [secret(BOTH, "db-7c4mt2b9kd")],
      [secret(BOTH, "db-7c4mt2b9kd")],
      [claim({ hashed: true })],
    ],
  ])("git is not believed where one %s", async (_, base, head, claims) => {
    const { secrets } = await diff(base, head, told(...claims));
    expect(secrets).toEqual([{ ...UNSURE, name: expect.stringMatching(/^shop\/db/) }]);
  });

  test("what stands in the place of a key and cannot be one is not shown", async () => {
    const odd = ["hunter2 is the password"];
    const found = await diff([secret(odd)], [secret(odd)], told(claim({ base: odd, head: odd, changed: odd })));
    expect(JSON.stringify(found)).not.toContain("hunter2");
    expect(found.secrets[0]?.keys?.changed).toEqual(["(hidden key)"]);
  });
});

describe("objects that differ by the commit alone", () => {
  const config = (name: string, value: string, namespace?: string): Manifest => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    data: { commit: value },
  });
  const none = told();

  test("are named, with the namespace if it is not the application's", async () => {
    const sides = (commit: string) => [config("a", commit), config("b", `web:${commit.slice(0, 8)}`, "other")];
    const found = await diff(sides(BASE), sides(HEAD), none);
    expect(found).toMatchObject({ resources: [], onlyCommit: ["ConfigMap a", "ConfigMap other/b"] });
  });

  test("are not those that are equal, that differ in more, or that are new", async () => {
    const more = { ...config("b", HEAD), data: { commit: HEAD, more: "1" } };
    const found = await diff([config("a", "1"), config("b", BASE)], [config("a", "1"), more, config("c", HEAD)], none);
    expect(found.onlyCommit).toEqual([]);
    expect(found.resources.map(({ title }) => title)).toEqual(["ConfigMap shop/b", "ConfigMap shop/c"]);
  });
});
