import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { listAt, objectAt, stringAt, type Json, type JsonObject } from "../../../sandbox/argocd/json.js";
import { refusal, startConversation, type Conversation } from "./conversation.js";
import { repositoryUrl } from "./recorded-world.js";

let c: Conversation;
beforeAll(async () => {
  c = await startConversation();
});
afterAll(() => c.stop());

interface SetOptions {
  readonly goTemplate?: boolean;
  readonly project?: string;
  readonly spec?: JsonObject;
  readonly path?: string;
}

function set(
  name: string,
  generators: Json[],
  { goTemplate = true, project = "default", path = "x", spec = {} }: SetOptions = {},
): JsonObject {
  const source = { repoURL: repositoryUrl, targetRevision: "main", path };
  const destination = { server: "https://kubernetes.default.svc", namespace: "x" };
  const template = { metadata: { name }, spec: { project, source, destination } };
  return {
    applicationSet: {
      metadata: { name: "set1" },
      spec: { ...(goTemplate ? { goTemplate } : {}), generators, template, ...spec },
    },
  };
}

const generate = (body: JsonObject, who: "svc" | "readonly" = "svc") =>
  c.call("POST", "/api/v1/applicationsets/generate", { who, body });

async function generated(body: JsonObject): Promise<[unknown, unknown][]> {
  const { status, answer } = await generate(body);
  if (status !== 200) throw new Error(JSON.stringify(answer));
  return listAt(answer, "applications").map((one) => [
    objectAt(one, "metadata").name,
    stringAt(one, "spec", "source", "path"),
  ]);
}

const list = (...elements: JsonObject[]): JsonObject => ({ list: { elements } });
const git = (more: JsonObject): JsonObject => ({ git: { repoURL: repositoryUrl, revision: "{main}", ...more } });
const folders = git({ directories: [{ path: "apps/*" }, { path: "apps/hooks", exclude: true }] });

describe("generators", () => {
  test.each<[string, JsonObject, [string, string][]]>([
    [
      "list",
      set("s-{{.env}}", [list({ env: "a" }, { env: "b" })], { path: "apps/{{.env}}" }),
      [
        ["s-a", "apps/a"],
        ["s-b", "apps/b"],
      ],
    ],
    [
      "list, plain templates",
      set("s-{{env}}", [list({ env: "a" })], { goTemplate: false, path: "{{ env }}/{{unknown}}" }),
      [["s-a", "a/{{unknown}}"]],
    ],
    ["list as a text", set("{{.n}}", [{ list: { elementsYaml: "[{n: a}]" } }]), [["a", "x"]]],
    [
      "git directories",
      set("d-{{.path.basename}}", [folders], { path: "{{.path.path}}" }),
      [
        ["d-kust", "apps/kust"],
        ["d-plain", "apps/plain"],
      ],
    ],
    [
      "git directories, plain templates",
      set("d-{{path.basename}}", [folders], { goTemplate: false, path: "{{path[1]}}" }),
      [
        ["d-kust", "kust"],
        ["d-plain", "plain"],
      ],
    ],
    [
      "git files at a commit",
      set("f-{{.extra}}", [git({ revision: "{head}", files: [{ path: "envs/*/web.yaml" }] })], {
        path: "{{.path.path}}/{{.path.filename}}",
      }),
      [["f-prod2", "envs/prod/web.yaml"]],
    ],
    [
      "git with values and a prefix",
      set("{{.values.x}}", [
        git({ directories: [{ path: "extra" }], pathParamPrefix: "p", values: { x: "v-{{.p.path.basename}}" } }),
      ]),
      [["v-extra", "x"]],
    ],
    ["clusters", set("c-{{.name}}", [{ clusters: {} }]), [["c-in-cluster", "x"]]],
    [
      "matrix",
      set("m-{{.env}}-{{.path.basename}}", [
        {
          matrix: {
            generators: [
              list({ env: "a" }, { env: "b" }),
              git({ directories: [{ path: "{{.env}}xtra" }, { path: "extra" }] }),
            ],
          },
        },
      ]),
      [
        ["m-a-extra", "x"],
        ["m-b-extra", "x"],
      ],
    ],
    [
      "merge",
      set("{{.env}}-{{.size}}", [
        {
          merge: {
            mergeKeys: ["env"],
            generators: [
              list({ env: "a", size: "s" }, { env: "b", size: "s" }),
              list({ env: "b", size: "l" }, { env: "z" }),
            ],
          },
        },
      ]),
      [
        ["a-s", "x"],
        ["b-l", "x"],
      ],
    ],
    [
      "a selector",
      set("{{.env}}", [{ ...list({ env: "a" }, { env: "b" }), selector: { matchLabels: { env: "b" } } }]),
      [["b", "x"]],
    ],
    [
      "the same name twice",
      set("s", [list({ a: "1" }, { a: "2" })]),
      [
        ["s", "x"],
        ["s", "x"],
      ],
    ],
    [
      "a template patch",
      set("{{.env}}", [list({ env: "a" })], { spec: { templatePatch: "spec: {source: {path: 'patched/{{.env}}'}}" } }),
      [["a", "patched/a"]],
    ],
  ])("%s", async (_case, body, expected) => {
    expect(await generated(body)).toEqual(expected);
  });

  test("nothing generated: an empty object", async () => {
    expect(await generate(set("s", [list()]))).toEqual({ status: 200, answer: {} });
  });

  test("Applications have a finalizer, a zero status, and a namespace only if the set has one", async () => {
    const body = set("s", [list({})]);
    const withNamespace = {
      applicationSet: { ...objectAt(body, "applicationSet"), metadata: { name: "set1", namespace: "argocd" } },
    };
    const [plain] = listAt((await generate(body)).answer, "applications");
    const [placed] = listAt((await generate(withNamespace)).answer, "applications");
    expect(plain).toMatchObject({ status: { sync: { status: "" } } });
    expect(objectAt(plain, "metadata")).toEqual({ name: "s", finalizers: ["resources-finalizer.argocd.argoproj.io"] });
    expect(objectAt(placed, "metadata").namespace).toBe("argocd");
  });
});

describe("refusals", () => {
  const templated =
    "error validating ApplicationSets: the Argo CD API does not currently support creating ApplicationSets with templated `project` fields";

  test("a templated project: code 2", async () => {
    expect(await generate(set("s", [list({})], { project: "{{.env}}" }))).toEqual(refusal(500, 2, templated));
  });

  test("no generator that is known: code 2", async () => {
    const { answer } = await generate(set("s", [{}]));
    expect(answer).toMatchObject({
      code: 2,
      message: expect.stringContaining("ApplicationSet set1 contains unrecognized generators"),
    });
  });

  test("no right to create sets: 403", async () => {
    const { status, answer } = await generate(set("s", [list({})]), "readonly");
    expect(status).toBe(403);
    expect(objectAt(answer).message).toMatch(
      /^permission denied: applicationsets, create, default\/set1, sub: readonly, iat: /,
    );
  });

  test("a project that does not exist: 400 code 3", async () => {
    const message = "ApplicationSet references project nope which does not exist";
    expect(await generate(set("s", [list({})], { project: "nope" }))).toEqual(refusal(400, 3, message));
  });

  test("a key that is missing: code 2, the server's log lines after the first line", async () => {
    const { answer } = await generate(
      set("s-{{.env}}", [list({ envx: "a" })], { spec: { goTemplateOptions: ["missingkey=error"] } }),
    );
    const [first, ...log] = (stringAt(answer, "message") ?? "").split("\n");
    expect(first).toBe(
      'unable to generate Applications of ApplicationSet: error generating applications: failed to execute go template s-{{.env}}: template: base:1:4: executing "base" at <.env>: map has no entry for key "env"',
    );
    expect(log[0]).toMatch(/^time=.* level=error /);
  });

  test("a commit that does not exist: code 13", async () => {
    const { status, answer } = await generate(
      set("s", [git({ revision: "f".repeat(40), directories: [{ path: "*" }] })]),
    );
    expect([status, objectAt(answer).code]).toEqual([500, 13]);
    expect(stringAt(answer, "message")).toMatch(
      /^unable to checkout git repo https:\S+ with revision f{40}: failed to initialize/,
    );
  });
});

describe("sets that exist", () => {
  test("lists are null when empty; a set that is missing is a real 404", async () => {
    expect(await c.ok("GET", "/api/v1/applicationsets")).toEqual({
      metadata: { resourceVersion: expect.any(String) },
      items: null,
    });
    const message = 'error getting ApplicationSet: applicationset.argoproj.io "none" not found';
    expect(await c.call("GET", "/api/v1/applicationsets/none")).toEqual(refusal(404, 5, message));
  });

  test("an added set is listed and read; who may not see it gets an empty list", async () => {
    c.argocd.addApplicationSet(objectAt(set("s", [list({})]), "applicationSet"));
    expect(listAt(await c.ok("GET", "/api/v1/applicationsets"), "items")).toHaveLength(1);
    expect(await c.ok("GET", "/api/v1/applicationsets/set1")).toMatchObject({
      metadata: { name: "set1", namespace: "argocd" },
    });
    expect((await c.call("GET", "/api/v1/applicationsets", { who: "nobody" })).answer).toMatchObject({ items: null });
  });
});

test("all of this was known to the schemas", () => {
  expect(c.argocd.violations).toEqual([]);
});
