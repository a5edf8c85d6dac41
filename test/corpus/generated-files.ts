import { stringify } from "yaml";
import type { FileChanges } from "../../sandbox/forge.js";

/** Kinds that Argo CD treats in ways of their own: values hidden, and run instead of kept in sync. */
export const SECRET_KIND = "Secret";
export const HOOK_KIND = "Job";
export const KINDS = ["ConfigMap", "Deployment", "Service", SECRET_KIND, HOOK_KIND] as const;

/** One object of a generated manifest file: everything that makes it different on another side. */
export interface GeneratedObject {
  readonly kind: (typeof KINDS)[number];
  readonly name: string;
  readonly value: number;
  readonly labelled: boolean;
}

/** Styles say nothing: comments, quotes, JSON and the order of members make no difference. */
export interface GeneratedFile {
  readonly objects: readonly GeneratedObject[];
  readonly style: "plain" | "reversed" | "commented";
}

/** One step of a pull request. A tweak changes a single member of a single object of a file, if there is one. */
export type Edit = { readonly path: string } & (
  | { readonly kind: "write"; readonly file: GeneratedFile }
  | { readonly kind: "delete" }
  | {
      readonly kind: "tweak";
      readonly at: number;
      readonly what: "value" | "label" | "name" | "drop" | "repeat" | "style";
    }
  | { readonly kind: "raw"; readonly text: string }
);

/** A file as it was generated, or a text that is no manifest. */
type Entry = GeneratedFile | string;

/** The files of a generated repository, from pull request to pull request. */
export class GeneratedTree {
  readonly #entries: Map<string, Entry>;

  constructor(files: Readonly<Record<string, GeneratedFile>>) {
    this.#entries = new Map(Object.entries(files));
  }

  texts(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#entries].map(([path, entry]) => [path, textOf(entry)]));
  }

  /** Does what the edits say; answers the commit that leads there. */
  apply(edits: readonly Edit[]): FileChanges {
    const before = this.texts();
    for (const one of edits) {
      const after = edited(this.#entries.get(one.path), one);
      if (after === undefined) this.#entries.delete(one.path);
      else this.#entries.set(one.path, after);
    }
    const after = this.texts();
    const gone = Object.keys(before).filter((path) => after[path] === undefined);
    const written = Object.entries(after).filter(([path, text]) => before[path] !== text);
    return { ...Object.fromEntries(gone.map((path) => [path, null])), ...Object.fromEntries(written) };
  }
}

function edited(entry: Entry | undefined, edit: Edit): Entry | undefined {
  switch (edit.kind) {
    case "write":
      return edit.file;
    case "delete":
      return undefined;
    case "raw":
      return edit.text;
    case "tweak":
      return entry === undefined || typeof entry === "string" ? entry : tweaked(entry, edit.at, edit.what);
  }
}

type Tweak = Extract<Edit, { readonly kind: "tweak" }>["what"];

function tweaked(file: GeneratedFile, at: number, what: Tweak): GeneratedFile {
  const chosen = file.objects[at % Math.max(1, file.objects.length)];
  if (what === "style") return { ...file, style: file.style === "plain" ? "commented" : "plain" };
  if (chosen === undefined) return file;
  const replaced = (by: Partial<GeneratedObject>) => ({
    ...file,
    objects: file.objects.map((one) => (one === chosen ? { ...one, ...by } : one)),
  });
  switch (what) {
    case "value":
      return replaced({ value: chosen.value + 1 });
    case "label":
      return replaced({ labelled: !chosen.labelled });
    case "name":
      return replaced({ name: chosen.name === "red" ? "green" : "red" });
    case "drop":
      return { ...file, objects: file.objects.filter((one) => one !== chosen) };
    case "repeat":
      return { ...file, objects: [...file.objects, { ...chosen, value: chosen.value + 1 }] };
  }
}

function textOf(entry: Entry): string {
  if (typeof entry === "string") return entry;
  return entry.objects.map((one) => written(manifestOf(one), entry.style)).join("---\n");
}

function manifestOf({ kind, name, value, labelled }: GeneratedObject): Readonly<Record<string, unknown>> {
  const metadata = { name, ...(labelled ? { labels: { tier: "front" } } : {}) };
  switch (kind) {
    case "ConfigMap":
      return { apiVersion: "v1", kind, metadata, data: { value: String(value), fixed: "same" } };
    case "Secret":
      return { apiVersion: "v1", kind, metadata, stringData: { [`key-${value % 2}`]: `s3cret-${value}` } };
    case "Service":
      return { apiVersion: "v1", kind, metadata, spec: { ports: [{ port: 80 + value }], selector: { app: name } } };
    case "Deployment": {
      const env = [{ name: "VALUE", value: String(value) }];
      const pod = {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: "main", image: "main:1", env }] },
      };
      const spec = { replicas: value, selector: { matchLabels: { app: name } }, template: pod };
      return { apiVersion: "apps/v1", kind, metadata, spec };
    }
    case "Job": {
      const annotations = { "argocd.argoproj.io/hook": "PreSync" };
      const pod = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: `main:${value}` }] } };
      return { apiVersion: "batch/v1", kind, metadata: { ...metadata, annotations }, spec: { template: pod } };
    }
  }
}

function written(manifest: Readonly<Record<string, unknown>>, style: GeneratedFile["style"]): string {
  switch (style) {
    case "plain":
      return stringify(manifest);
    case "reversed":
      return `${JSON.stringify(Object.fromEntries(Object.entries(manifest).reverse()), null, 2)}\n`;
    case "commented":
      return `# written by hand\n${stringify(manifest, { defaultStringType: "QUOTE_SINGLE" })}`;
  }
}
