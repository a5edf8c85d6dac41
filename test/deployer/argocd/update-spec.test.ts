import { expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import type { JsonObject } from "../../../src/core/model/json.js";
import { argocd, settings, withArgoCd } from "./scripted-argocd.js";
import { failureOf, live, underTest } from "./under-test.js";

withArgoCd();

const PATH = "/api/v1/applications/plain";
const NEW_SPEC = { project: "fin", source: { path: "b" } };
function put(status: number, answer: object) {
  settings();
  return argocd
    .put(`${PATH}/spec?validate=false&project=default`, NEW_SPEC)
    .matchHeader("content-type", "application/json")
    .reply(status, answer);
}

test("the spec is replaced under the old project, without validation, and returned as it is stored", async () => {
  put(200, { project: "fin" });
  expect(await underTest().deployer.updateSpec(live(), NEW_SPEC)).toEqual({ project: "fin" });
});

test("the spec of an application in another namespace", async () => {
  argocd.put(`${PATH}/spec?validate=false&project=default&appNamespace=team-a`).reply(200, NEW_SPEC);
  await underTest().deployer.updateSpec(live({ namespace: "team-a" }), NEW_SPEC);
});

test.each([
  [403, { code: 7, message: "permission denied" }, "forbidden", "permission denied: applications, update"],
  [
    400,
    { code: 3, message: "application spec for plain is invalid: x" },
    "refused",
    "application spec for plain is invalid: x",
  ],
])("HTTP %d refuses the new spec", async (status, answer, reason, message) => {
  put(status, answer);
  expect(await failureOf(underTest().deployer.updateSpec(live(), NEW_SPEC))).toMatchObject({ reason, message });
});

test("a spec that Argo CD would read in another way is refused before it is asked", async () => {
  const spec = { ...NEW_SPEC, source: { path: "b", RepoURL: "https://git.example.com/other.git" } };
  expect(await failureOf(underTest().deployer.updateSpec(live(), spec))).toMatchObject({
    reason: "refused",
    message: 'the definition has the key "RepoURL", which Argo CD reads as repoURL',
  });
});

test.each([
  ["v3.0.12", undefined, "does not know syncPolicy.automated.enabled"],
  ["v3.1.0", NEW_SPEC, undefined],
])(
  "Argo CD %s and auto-sync that is switched off, which versions before 3.1 take for switched on",
  async (version, stored, refusal) => {
    const spec = { ...NEW_SPEC, syncPolicy: { automated: { enabled: false, prune: true } } };
    argocd.get("/api/version").reply(200, { Version: version });
    if (stored !== undefined) argocd.put(`${PATH}/spec?validate=false&project=default`, spec).reply(200, stored);
    const { deployer } = underTest();
    const said = refusal === undefined ? undefined : await failureOf(deployer.updateSpec(live(), spec));
    if (refusal === undefined) await deployer.updateSpec(live(), spec);
    expect(said?.message ?? "").toContain(refusal ?? "");
  },
);

test.each([
  ["that Argo CD has", { live: "9007199254740993", next: "1" }],
  ["to write", { live: "1", next: "9223372036854775807" }],
])("an integer of 64 bits in the definition %s is not written as another one", async (_title, ids) => {
  settings();
  const textOf = (id: string) => `{"project":"default","source":{"helm":{"valuesObject":{"id":${id}}}}}`;
  argocd.get(PATH).reply(200, `{"metadata":{"name":"plain"},"spec":${textOf(ids.live)}}`);
  const { deployer } = underTest();
  const found = await deployer.findApplication(applicationName("plain"));
  const next = JSON.parse(textOf(ids.next)) as JsonObject;
  const failure = await failureOf(deployer.updateSpec(live({ spec: found?.spec ?? {} }), next));
  expect(failure).toMatchObject({
    reason: "refused",
    message: expect.stringContaining("integer of more than 53 bits"),
  });
});

test("a spec update without an answer is looked up", async () => {
  put(504, { code: 4, message: "deadline" });
  argocd.get(PATH).reply(403, { code: 7, message: "permission denied" });
  argocd.get(PATH).reply(200, { metadata: { name: "plain" }, spec: { ...NEW_SPEC, syncPolicy: {} } });
  await underTest().deployer.updateSpec(live(), NEW_SPEC);
});

test("a list after a spec update is a new one", async () => {
  settings();
  const { deployer } = underTest();
  argocd.get("/api/v1/applications").query(true).reply(200, { items: [] });
  await deployer.listApplications();
  put(200, NEW_SPEC);
  await deployer.updateSpec(live(), NEW_SPEC);
  argocd
    .get("/api/v1/applications")
    .query(true)
    .reply(200, { items: [{ metadata: { name: "a" }, spec: {} }] });
  expect(await deployer.listApplications()).toHaveLength(1);
});
