import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { listAt, objectAt, stringAt, type Json, type JsonObject } from "../../../sandbox/argocd/json.js";
import { startConversation, type Conversation } from "./conversation.js";
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

const generate = (body: JsonObject) => c.call("POST", "/api/v1/applicationsets/generate", { body });

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
      "list, plain templates",
      set("s-{{env}}", [list({ env: "a" })], { goTemplate: false, path: "{{ env }}/{{unknown}}" }),
      [["s-a", "a/{{unknown}}"]],
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
  ])("%s", async (_case, body, expected) => {
    expect(await generated(body)).toEqual(expected);
  });
});

describe("sets that exist", () => {
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
