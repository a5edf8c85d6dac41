import { describe, expect, test } from "@jest/globals";
import { stringify } from "yaml";
import type { FileChanges } from "../../sandbox/forge.js";
import { type Bot, HOSTS, startBot } from "../scenarios/bot.js";
import { changeOf, configMap } from "../scenarios/resources.js";
import { ServiceLog } from "../scenarios/service-log.js";

type Members = Readonly<Record<string, unknown>>;

const encoded = (text: string) => Buffer.from(text).toString("base64");
const secret = (value: string, more: Members = {}) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "carried" },
  stringData: { token: value },
  data: { other: encoded(value) },
  ...more,
});
const object = (type: string, name: string, members: Members) => ({
  apiVersion: type.slice(0, type.lastIndexOf("/")),
  kind: type.slice(type.lastIndexOf("/") + 1),
  metadata: { name },
  ...members,
});

/** One Secret in everything that carries one. */
function carriers(value: string): FileChanges {
  const one = secret(value);
  const objects = [
    object("work.open-cluster-management.io/v1/ManifestWork", "work", { spec: { workload: { manifests: [one] } } }),
    object("kubernetes.crossplane.io/v1alpha2/Object", "crossplane", { spec: { forProvider: { manifest: one } } }),
    object("template.openshift.io/v1/Template", "template", {
      objects: [secret("${TOKEN}")],
      parameters: [{ name: "TOKEN", value }],
    }),
    object("helm.toolkit.fluxcd.io/v2/HelmRelease", "release", { spec: { values: { extraObjects: [one] } } }),
    object("external-secrets.io/v1/ExternalSecret", "external", {
      spec: { target: { template: { data: { token: value } } } },
    }),
    object("example.com/v1/Carrier", "deep", { spec: { list: [{ kind: "List", items: [{ inner: one }] }] } }),
    { apiVersion: "example.com/v1", kind: "secret", metadata: { name: "small" }, data: { token: value } },
    object("v1/ConfigMap", "yaml", { data: { "all.yaml": `a: 1\n---\n${stringify(one)}` } }),
    object("v1/ConfigMap", "json", { data: { "all.json": JSON.stringify({ inner: JSON.stringify(one) }) } }),
    object("v1/ConfigMap", "escaped", {
      data: { "all.json": JSON.stringify(one).replace('"Secret"', '"\\u0053ecret"') },
    }),
    object("v1/ConfigMap", "script", { data: { run: `cat <<EOF | kubectl apply -f -\n${stringify(one)}EOF\n` } }),
    object("v1/ConfigMap", "binary", { binaryData: { all: encoded(JSON.stringify(one)) } }),
  ];
  return { "apps/web/carriers.yaml": objects.map((each) => stringify(each)).join("---\n") };
}

/** Annotations in which tools keep what they applied last. */
function annotated(value: string): FileChanges {
  const copy = JSON.stringify(secret(value));
  const annotations = {
    "kubectl.kubernetes.io/last-applied-configuration": copy,
    "kapp.k14s.io/original": copy,
    "objectset.rio.cattle.io/applied": value,
    "banzaicloud.com/last-applied": value,
    "kopf.zalando.org/last-handled-configuration": JSON.stringify({ spec: { password: value } }),
    "example.com/snapshot": JSON.stringify({ kind: "Database", spec: { password: value } }),
  };
  const labels = { value: value.replaceAll(/\d|[^a-z]/gi, "") };
  const template = { metadata: { labels: { app: "x" }, annotations }, spec: { containers: [] } };
  return {
    "apps/web/annotated.yaml": [
      stringify({ ...object("v1/ConfigMap", "annotated", {}), metadata: { name: "annotated", labels, annotations } }),
      stringify(object("apps/v1/Deployment", "annotated", { spec: { template } })),
    ].join("---\n"),
  };
}

/** What everybody who can read the PR, a page or the log gets to see. */
async function everything(bot: Bot, number: number, log: ServiceLog): Promise<string> {
  const plan = await bot.stores.plans.find(bot.ref(number));
  const audit = await bot.stores.audit.list({ limit: 100 });
  return [...bot.answers(number), JSON.stringify([plan, audit]), log.text].join("\n");
}

/** The value, and every way of writing it that somebody can read. */
function expectHidden(said: string, value: string): void {
  const json = JSON.stringify(value).slice(1, -1);
  for (const form of [value, json, encoded(value), encoded(value).replace(/=+$/, ""), encodeURIComponent(value)]) {
    expect(said).not.toContain(form);
  }
}

describe.each(HOSTS)("values of Secrets, on %s", (host) => {
  test("in lists, templates, carriers and texts stand in no plan, stored diff or log", async () => {
    const log = new ServiceLog();
    const bot = await startBot({ host, files: () => carriers("hunter2-before"), log: log.write });
    const one = await bot.open({ ...carriers("hunter2-after"), ...changeOf(["web"]) });
    expect(bot.lastComment(one)).toContain("Diff (");
    for (const name of ["work", "crossplane", "release", "external", "deep", "small", "yaml", "escaped", "binary"]) {
      expect(bot.lastComment(one)).toContain(`guestbook/${name}`);
    }
    // Against the live cluster, where nothing of it runs yet, everything is new.
    expect(bot.lastComment(one)).toMatch(/\(hidden(?:, after the change)?\)/);
    const said = await everything(bot, one, log);
    for (const value of ["hunter2-before", "hunter2-after"]) expectHidden(said, value);
    expect(said).not.toContain("hunter2");
  });

  test("in annotations that carry a copy of an object stand in no plan, stored diff or log", async () => {
    const log = new ServiceLog();
    const bot = await startBot({ host, files: () => annotated("hunter2-before"), log: log.write });
    const one = await bot.open(annotated("hunter2x-after"));
    expect(bot.lastComment(one)).toContain("guestbook/annotated");
    const said = await everything(bot, one, log);
    expect(said).not.toMatch(/hunter2/);
    expect(said).not.toMatch(/last-applied|k14s|cattle\.io|last-handled|example\.com\/snapshot/);
  });

  const VALUE = 'hunter2]x "quoted" & more';
  const quotes: readonly (readonly [string, string])[] = [
    [
      "a map of Go",
      `Secret "keys" is invalid: patch: Invalid value: "map[data:map[token:${VALUE} b:c] metadata:map[name:keys]]": cannot convert int64 to string`,
    ],
    [
      "a map of Go that was cut",
      `one or more objects failed to apply, reason: map[stringData:map[a:b] data:map[token:${VALUE}`,
    ],
    [
      "Go's syntax",
      `Object 'apiVersion' is missing in map[string]interface {}{"data":map[string]interface {}{"token":${JSON.stringify(VALUE)}}}`,
    ],
    [
      "a struct of Go",
      `&Secret{ObjectMeta:{keys},Data:map[string][]byte{token: ${VALUE},},StringData:map[string]string{token: ${VALUE},},Type:Opaque,}`,
    ],
    [
      "a patch",
      `error when applying patch:\n${JSON.stringify({ data: { token: encoded(VALUE) }, metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify(secret(VALUE)) } } })}\nto:\nResource: "/v1, Resource=secrets"\nfor: "STDIN": refused`,
    ],
    ["a JSON patch", `cannot apply ${JSON.stringify([{ op: "replace", path: "/data/token", value: encoded(VALUE) }])}`],
    ["YAML", `error converting YAML to JSON of\n${stringify(secret(VALUE))}`],
    ["YAML on one line", `error converting ${JSON.stringify(stringify(secret(VALUE)))}: line 5`],
    [
      "a field",
      `Secret "keys" is invalid: stringData[token]: Invalid value: ${JSON.stringify(VALUE)}: must be shorter`,
    ],
    [
      "an address",
      `failed to reach https://ana:hunter2]x@example.com/ and postgres://web:hunter2]x@db/web?password=hunter2]x`,
    ],
  ];

  test.each(quotes)("that Argo CD quotes as %s stand in no plan, result or log", async (_, message) => {
    const log = new ServiceLog();
    const bot = await startBot({ host, log: log.write });
    const grpc = JSON.stringify({ code: 2, error: message, message });
    bot.argocd.faults.add({ path: /\/manifests$/, times: 2, fault: { kind: "status", status: 500, body: grpc } });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).toContain("could not be evaluated");
    await bot.comment(one, "svc plan");
    // What equals the message of the operation is not said again.
    const resources = [{ kind: "Secret", name: "keys", message: `refused: ${message}` }];
    bot.argocd.failNextSync("web", { phase: "Failed", message, resources });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Secret guestbook/keys: SyncFailed: ");
    bot.argocd.faults.add({ path: /\/sync$/, times: 1, fault: { kind: "status", status: 400, body: grpc } });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("not started");
    const said = await everything(bot, one, log);
    expect(said).toContain("(hidden)");
    expectHidden(said, VALUE);
    expect(said).not.toContain("hunter2");
  });

  test("that stand in the repository are cut out of Argo CD's messages however they are quoted", async () => {
    const log = new ServiceLog();
    const values = [
      "hunter2-plain",
      "hunter2-in-base64",
      "hunter2 of a template",
      "hunter2-generated",
      "hunter2-carried",
    ];
    const [plain = "", inBase64 = "", template = "", generated = "", carried = ""] = values;
    const files = {
      "apps/web/secret.yaml": stringify(secret(plain, { data: { other: encoded(inBase64) } })),
      "apps/web/work.yaml": stringify(
        object("work.open-cluster-management.io/v1/ManifestWork", "work", {
          spec: { workload: { manifests: [secret(carried)] } },
        }),
      ),
      "charts/x/templates/secret.yaml": `{{- if .x }}\nkind: Secret\nstringData:\n  token: "${template}"\n{{- end }}\n`,
      "overlays/kustomization.yaml": stringify({ secretGenerator: [{ name: "x", literals: [`token=${generated}`] }] }),
    };
    const bot = await startBot({ host, files: () => files, log: log.write });
    const one = await bot.open(changeOf(["web"]));
    const message = `cannot use ${values.join(", ")}; ${values.map(encoded).join(" ")}; ${encodeURIComponent(template)}`;
    const grpc = JSON.stringify({ code: 2, error: message, message });
    bot.argocd.failNextSync("web", {
      phase: "Failed",
      message,
      resources: [{ kind: "ConfigMap", name: "web", message }],
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("cannot use (hidden), (hidden)");
    bot.argocd.faults.add({ path: /\/manifests$/, times: 2, fault: { kind: "status", status: 500, body: grpc } });
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("cannot use (hidden), (hidden)");
    const said = await everything(bot, one, log);
    for (const value of values) expectHidden(said, value);
  });

  test("that an admission webhook quotes when Kubernetes is asked about an object stand in no plan or log", async () => {
    const log = new ServiceLog();
    const work = (value: string) =>
      stringify(
        object("work.open-cluster-management.io/v1/ManifestWork", "work", {
          spec: { workload: { manifests: [secret(value)] } },
        }),
      );
    const config = { deployer: { server_dry_run: "auto" } };
    const bot = await startBot({ host, config, files: () => ({ "apps/web/work.yaml": work("old") }), log: log.write });
    await bot.argocd.deploy("web");
    bot.argocd.addAdmissionRule(({ spec }) => {
      const [token] = /hunter2-\w+/.exec(JSON.stringify(spec ?? {})) ?? [];
      return token && `admission webhook "policy.example.com" denied the request: ${token} is too weak`;
    });
    const one = await bot.open({ "apps/web/work.yaml": work("hunter2-carried") });
    expect(bot.lastComment(one)).toContain("denied the request: (hidden) is too weak");
    expectHidden(await everything(bot, one, log), "hunter2-carried");
  });

  test("what redact matches is shown in no diff, message or log; without it, other kinds show what stands in git", async () => {
    const changes = { "apps/web/configmap.yaml": configMap("web", { url: "postgres://web:hunter2@db/web" }) };
    const message = "cannot connect with token-hunter2";
    const grpc = JSON.stringify({ code: 2, error: message, message });
    const log = new ServiceLog();
    const bot = await startBot({ host, config: { redact: ["postgres://\\S+", "token-[a-z0-9]+"] }, log: log.write });
    const one = await bot.open(changes);
    expect(bot.lastComment(one)).toContain("url: (redacted)");
    bot.argocd.failNextSync("web", { phase: "Failed", message });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("cannot connect with (redacted)");
    bot.argocd.faults.add({ path: /\/manifests$/, times: 2, fault: { kind: "status", status: 500, body: grpc } });
    await bot.comment(one, "svc plan");
    expect(await everything(bot, one, log)).not.toContain("hunter2");
    const open = await startBot({ host });
    expect(open.lastComment(await open.open(changes))).toContain("url: postgres://web:hunter2@db/web");
  });
});
