import { describe, expect, test } from "@jest/globals";
import { diffTask } from "../../../src/core/diff/diff-task.js";
import { readIgnoreRules } from "../../../src/core/diff/live/live-objects.js";
import type { Manifest } from "../../../src/core/model/application.js";
import { revision } from "../../../src/core/model/brand.js";
import { jsonText } from "../../../src/core/model/json.js";
import type { ChangedSecret, SecretsInGit } from "../../../src/core/secrets/secrets-in-git.js";

const MASK = "++++++++";
const BASE = revision("0123456789abcdef0123456789abcdef01234567");
const HEAD = revision("fedcba9876543210fedcba9876543210fedcba98");

function secret(keys: readonly string[], name = "db", annotations: Record<string, string> = {}): Manifest {
  const data = Object.fromEntries(keys.map((key) => [key, MASK]));
  return { apiVersion: "v1", kind: "Secret", metadata: { name, annotations }, data };
}

function changedSecret(more: Partial<ChangedSecret> = {}): ChangedSecret {
  const keys = ["password", "user"];
  const files = ["apps/web/db.yaml"];
  return {
    name: "shop/db",
    base: keys,
    head: keys,
    changed: ["password"],
    stays: [],
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
    sensitiveKinds: [],
    ignored: readIgnoreRules({}, {}),
    answers: {},
    live: undefined,
  });
  return output.diff;
}

function told(...changed: readonly ChangedSecret[]): SecretsInGit {
  return { changed, files: ["apps/web/db.yaml", "apps/web/other.yaml"] };
}
const BOTH = ["password", "user"];
const UNSURE = { name: "shop/db", keys: undefined, files: ["apps/web/db.yaml", "apps/web/other.yaml"] };

describe("Secrets whose values Argo CD hides", () => {
  test("a value that changes in git makes its Secret a change, by key", async () => {
    const found = await diff([secret(BOTH)], [secret(BOTH)], told(changedSecret()));
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
      told(changedSecret({ base: ["old", "password"], head: ["new", "password"] })),
    );
    expect(found.secrets[0]?.keys).toEqual({ created: ["new"], changed: ["password"], deleted: ["old"] });
    expect(found.updated).toBe(1);
  });

  test("one that no changed file holds, or whose values stay, is not mentioned", async () => {
    const same = changedSecret({ name: "shop/other", changed: [] });
    const sides = [secret(BOTH), secret(BOTH, "other")];
    expect(await diff(sides, sides, told(same))).toMatchObject({ secrets: [], resources: [], hiddenSecrets: true });
  });

  test("where git tells nothing, svc cannot tell about any of them", async () => {
    const { files } = UNSURE;
    expect(await diff([secret(BOTH)], [secret(BOTH)], { changed: undefined, files })).toMatchObject({
      secrets: [UNSURE],
      resources: [],
      hiddenSecrets: true,
    });
  });

  test("one without values, or on one side alone, hides nothing", async () => {
    const untold: SecretsInGit = { changed: undefined, files: [] };
    expect((await diff([secret([])], [secret([])], untold)).secrets).toEqual([]);
    expect((await diff([], [secret(BOTH)], untold)).secrets).toEqual([]);
    expect((await diff([secret(BOTH)], [], untold)).secrets).toEqual([]);
  });

  test.each<[string, readonly Manifest[], readonly Manifest[], readonly ChangedSecret[]]>([
    ["has other keys than git", [secret(BOTH)], [secret(["password"])], [changedSecret()]],
    ["is rendered twice", [secret(BOTH)], [secret(BOTH), secret(BOTH)], [changedSecret()]],
    ["is only at the head in the changed files", [secret(BOTH)], [secret(BOTH)], [changedSecret({ base: undefined })]],
    [
      "stands beside one that is not rendered",
      [secret(BOTH)],
      [secret(BOTH)],
      [changedSecret(), changedSecret({ name: "shop/gone" })],
    ],
    ["has a masked annotation", [secret(BOTH)], [secret(BOTH, "db", { note: MASK })], [changedSecret()]],
  ])("git is not believed where one %s", async (_, base, head, changed) => {
    const { secrets } = await diff(base, head, told(...changed));
    expect(secrets).toEqual([{ ...UNSURE, name: expect.stringMatching(/^shop\/db/) }]);
  });

  test("what stands in the place of a key and cannot be one is not shown", async () => {
    const odd = ["hunter2 is the password"];
    const found = await diff([secret(odd)], [secret(odd)], told(changedSecret({ base: odd, head: odd, changed: odd })));
    expect(JSON.stringify(found)).not.toContain("hunter2");
    expect(found.secrets[0]?.keys?.changed).toEqual(["(hidden key)"]);
  });
});
