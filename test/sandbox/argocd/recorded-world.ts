import { afterAll } from "@jest/globals";
import { startArgoCd, type ArgoCd } from "../../../sandbox/argocd/argocd.js";
import type { Json } from "../../../sandbox/argocd/json.js";
import { GitStore } from "../../../sandbox/git/git-store.js";
import { comparable, essentials } from "./comparable.js";

export const repositoryUrl = "https://git.example.com/acme/deploy.git";

const lines = (...texts: string[]): string => `${texts.join("\n")}\n`;

function configMap(name: string, data: string, annotations = ""): string {
  return lines("apiVersion: v1", "kind: ConfigMap", `metadata: {name: ${name}${annotations}}`, `data: ${data}`);
}

const hook = (kind: string): string => `, annotations: {argocd.argoproj.io/hook: ${kind}}`;
const secret = (password: string): string =>
  lines(
    "apiVersion: v1",
    "kind: Secret",
    "metadata: {name: plain-secret}",
    `stringData: {user: admin, password: ${password}}`,
  );
const overlay = (value: number): string =>
  lines("resources: [../base]", "namePrefix: prod-", "configMapGenerator:", `  - {name: gen, literals: [k=${value}]}`);

/** The repository that the recorded applications read, at its first commit. */
const files = {
  "apps/plain/a.yaml": configMap("plain", '{a: "1", app: x}'),
  "apps/plain/b.yaml": configMap("old", '{x: "1"}'),
  "apps/plain/c.yaml": secret("one"),
  "apps/kust/base/cm.yaml": configMap("kbase", '{v: "1"}'),
  "apps/kust/base/kustomization.yaml": "resources: [cm.yaml]\n",
  "apps/kust/overlay/kustomization.yaml": overlay(1),
  "apps/hooks/a.yaml": configMap("h1", '{x: "1"}', hook("PostDelete")),
  "apps/hooks/b.yaml": configMap("h2", '{x: "1"}', hook("PreSync")),
  "apps/hooks/c.yaml": configMap("normal", '{x: "1"}'),
  "charts/web/Chart.yaml": "{apiVersion: v2, name: web, version: 0.1.0}\n",
  "charts/web/values.yaml": "{tag: v1, extra: none, rev: none}\n",
  "charts/web/templates/cm.yaml": configMap(
    "{{ .Release.Name }}-web",
    "{extra: {{ .Values.extra }}, ns: {{ .Release.Namespace }}, rev: {{ .Values.rev | quote }}, tag: {{ .Values.tag }}}",
  ),
  "envs/prod/web.yaml": "extra: prod1\n",
  "extra/cm.yaml": configMap("extra", '{e: "1"}'),
};

const childApplication = lines(
  "apiVersion: argoproj.io/v1alpha1",
  "kind: Application",
  "metadata: {name: child, namespace: argocd}",
  "spec:",
  "  project: default",
  "  destination: {server: https://kubernetes.default.svc, namespace: other}",
  `  source: {repoURL: ${repositoryUrl}, path: apps/plain, targetRevision: main}`,
);

export interface RecordedExchange {
  readonly method: string;
  readonly path: string;
  readonly who: "svc" | "readonly" | "nobody" | "proj" | null;
  readonly contentType?: string;
  readonly body?: Json;
  readonly status: number;
  readonly answer: Json;
}

export interface Answer {
  readonly status: number;
  readonly answer: Json;
}

/** The situation in which the exchanges were recorded, built anew in the sandbox. */
export interface RecordedWorld {
  readonly argocd: ArgoCd;
  readonly tokens: Readonly<Record<"svc" | "readonly" | "nobody" | "proj", string>>;
  /** Commits by the name that the fixtures give them. */
  readonly commits: ReadonlyMap<string, string>;
  send(exchange: Omit<RecordedExchange, "status" | "answer">): Promise<Answer>;
  /** The recorded answer with this world's commits. */
  expected(exchange: RecordedExchange): Answer;
  /** Commits on the branch; a new one starts at the commit `main`. */
  commit(branch: string, changes: Record<string, string | null>): Promise<string>;
  resolve(branch: string): Promise<string | undefined>;
  setRef(ref: string, revision: string | undefined): Promise<void>;
  stop(): Promise<void>;
}

interface Template {
  readonly store: GitStore;
  readonly commits: ReadonlyMap<string, string>;
}

let template: Promise<Template> | undefined;
let worlds = 0;
afterAll(async () => {
  await (await template)?.store.remove();
});

/** Built once per test file; each world gets a copy of its own. */
async function buildTemplate(): Promise<Template> {
  const store = await GitStore.create();
  await store.createRepository("deploy", files);
  const commits = new Map<string, string>();
  const commit = async (name: string, changes: Record<string, string | null>): Promise<void> => {
    commits.set(name, await store.commit("deploy", name, changes, { from: commits.get("main") }));
  };
  commits.set("main", (await store.resolve("deploy", "main")) ?? "");
  await commit("head", {
    "apps/plain/a.yaml": configMap("plain", '{a: "2", app: x}'),
    "apps/plain/b.yaml": null,
    "apps/kust/base/cm.yaml": configMap("kbase", '{v: "2"}'),
    "apps/kust/overlay/kustomization.yaml": overlay(2),
    "charts/web/values.yaml": "{tag: v2, extra: none, rev: none}\n",
    "envs/prod/web.yaml": "extra: prod2\n",
    "extra/cm.yaml": configMap("extra", '{e: "2"}'),
  });
  await commit("secret", { "apps/plain/c.yaml": secret("other") });
  await commit("base-only", { "apps/kust/base/cm.yaml": configMap("kbase", '{v: "5"}') });
  await commit("base-41", { "apps/kust/base/cm.yaml": configMap("kbase", '{v: "41"}') });
  await commit("overrides", {
    "charts/web/.argocd-source.yaml": "helm: {parameters: [{name: extra, value: fromall}]}\n",
    "charts/web/.argocd-source-web.yaml": "helm: {parameters: [{name: tag, value: fromsource}]}\n",
  });
  await commit("aoa", { "aoa/child.yaml": childApplication });
  commits.set("parent", commits.get("aoa") ?? "");
  await store.setRef("deploy", "refs/pull/1/head", commits.get("head"));
  return { store, commits };
}

export async function startRecordedWorld(): Promise<RecordedWorld> {
  template ??= buildTemplate();
  const { store, commits } = await template;
  worlds += 1;
  const repository = `deploy-${worlds}`;
  await store.fork("deploy", repository);

  const argocd = await startArgoCd({
    repositories: (url) => (url === repositoryUrl ? store.objects(repository) : undefined),
    applicationNamespaces: ["team-a"],
    operationTime: { polls: 3 },
  });
  argocd.addProject("win", {
    syncWindows: [{ kind: "deny", schedule: "* * * * *", duration: "24h", applications: ["*"] }],
  });
  argocd.removeNamespace("does-not-exist");
  const tokens = {
    svc: argocd.addAccount("svc", { permissions: "all" }),
    readonly: argocd.addAccount("readonly", { permissions: "readonly" }),
    nobody: argocd.addAccount("nobody", { permissions: [] }),
    proj: argocd.addProjectRole("win", "r1", {
      permissions: [{ resource: "applications", action: "get", object: "win/*" }],
    }),
  };
  const filled = (text: string): string =>
    text.replace(/\{([a-z0-9-]+)(?::(\d))?\}/g, (whole, name: string, digits?: string) => {
      const id = commits.get(name);
      return id === undefined ? whole : id.slice(0, digits === undefined ? 40 : Number(digits));
    });
  return {
    argocd,
    tokens,
    commits,
    async send({ method, path, who, contentType, body }) {
      const response = await fetch(argocd.url + filled(path), {
        method,
        headers: {
          ...(who === null ? {} : { Authorization: `Bearer ${tokens[who]}` }),
          ...(contentType === undefined ? {} : { "Content-Type": contentType }),
        },
        body: body === undefined ? undefined : Buffer.from(filled(JSON.stringify(body))),
      });
      const text = await response.text();
      const isJson = response.headers.get("content-type") === "application/json";
      return { status: response.status, answer: isJson ? (JSON.parse(text) as Json) : text };
    },
    expected: ({ status, answer }) => ({
      status,
      answer: essentials(comparable(JSON.parse(filled(JSON.stringify(answer))) as Json)),
    }),
    commit: (branch, changes) => store.commit(repository, branch, changes, { from: commits.get("main") }),
    resolve: (branch) => store.resolve(repository, branch),
    setRef: (ref, revision) => store.setRef(repository, ref, revision),
    stop: () => argocd.stop(),
  };
}
