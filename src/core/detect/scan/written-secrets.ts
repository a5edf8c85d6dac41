import { isList } from "../../model/effect.js";
import { isJsonObject, type Json, type JsonObject } from "../../model/json.js";
import type { RepositoryTree } from "../../ports/snapshot.js";
import { isSecretKind } from "../../secrets/secret-object.js";
import { filesOf, textsOf } from "./kustomize-secrets.js";
import type { Naming, SecretGenerator, SecretManifests, SecretPiece } from "./secret-piece.js";
import { ambiguity, isEncoded, mayHoldSecret } from "./spelling.js";

/** A Secret as git has it. Its values must not leave the comparison. */
export interface WrittenSecret {
  /** Empty if the application's destination decides. */
  readonly namespace: string;
  readonly name: string;
  /** Kustomize appends a hash of the content to the name. */
  readonly hashed: boolean;
  readonly values: ReadonlyMap<string, string>;
  /** The keys that are written as `stringData` alone. */
  readonly plain: readonly string[];
  readonly files: readonly string[];
}

/** The Secrets that these pieces hold at a commit; undefined if one of them cannot be read for certain. */
export async function writtenSecrets(
  pieces: readonly SecretPiece[],
  tree: RepositoryTree,
): Promise<readonly WrittenSecret[] | undefined> {
  const paths = pieces.flatMap((piece) => (piece.kind === "manifests" ? [piece.path] : envFilesOf(piece)));
  const texts = await tree.readTexts([...new Set(paths)]);
  const found: WrittenSecret[] = [];
  for (const piece of pieces) {
    const secrets =
      piece.kind === "manifests" ? await ofManifests(piece, texts, tree) : ofGenerator(piece, texts, tree);
    if (secrets === undefined) return undefined;
    found.push(...secrets);
  }
  return found;
}

async function ofManifests(
  { path, naming }: SecretManifests,
  texts: ReadonlyMap<string, string>,
  tree: RepositoryTree,
): Promise<readonly WrittenSecret[] | undefined> {
  const text = texts.get(path);
  // Argo CD may replace a pointer of LFS by what it stands for.
  if (text === undefined || text.startsWith("version https://git-lfs")) return undefined;
  if (!mayHoldSecret(text)) return [];
  if (isEncoded(text) || ambiguity(text) !== undefined) return undefined;
  const documents = await tree.parseYaml(text);
  const secrets = documents?.map((document) => secretsIn(document, naming, path, 0));
  return secrets?.every((some) => some !== undefined) === true ? secrets.flat() : undefined;
}

const MAX_LISTS = 4;

/** The Secrets of one document, which may be a list. */
function secretsIn(document: Json, naming: Naming, path: string, depth: number): readonly WrittenSecret[] | undefined {
  if (!isJsonObject(document)) return document === null ? [] : undefined;
  const { kind, items, apiVersion } = document;
  if (typeof kind !== "string") return undefined;
  if (kind.endsWith("List") && isList(items)) {
    if (depth >= MAX_LISTS) return undefined;
    const each = kind === "List" ? {} : { apiVersion, kind: kind.slice(0, -"List".length) };
    const inner = items.map((item) =>
      secretsIn(isJsonObject(item) ? { ...each, ...item } : item, naming, path, depth + 1),
    );
    return inner.every((some) => some !== undefined) ? inner.flat() : undefined;
  }
  if (kind !== "Secret") return isSecretKind(kind) ? undefined : [];
  // Those of other groups are not masked.
  if (typeof apiVersion === "string" && apiVersion.includes("/")) return [];
  const secret = secretOf(document, naming, path);
  return secret && [secret];
}

function secretOf({ metadata, data, stringData }: JsonObject, naming: Naming, path: string): WrittenSecret | undefined {
  if (!isJsonObject(metadata) || typeof metadata.name !== "string" || metadata.name === "") return undefined;
  const { namespace = "", annotations } = metadata;
  if (typeof namespace !== "string") return undefined;
  const values = new Map<string, string>();
  for (const [map, encode] of [
    [data, plain],
    [stringData, base64],
  ] as const) {
    if (map !== undefined && map !== null && !isJsonObject(map)) return undefined;
    for (const [key, value] of Object.entries(map ?? {})) {
      if (typeof value !== "string") return undefined;
      values.set(key, encode(value));
    }
  }
  const hashed = isJsonObject(annotations) && annotations["kustomize.config.k8s.io/needs-hash"] === "true";
  const encoded = isJsonObject(data) ? Object.keys(data) : [];
  const written = isJsonObject(stringData) ? Object.keys(stringData).filter((key) => !encoded.includes(key)) : [];
  return named(metadata.name, namespace, { naming, hashed, values, plain: written, files: [path] });
}

function plain(value: string): string {
  return value.replace(/\s/g, "");
}

function base64(value: string): string {
  return Buffer.from(value).toString("base64");
}

function named(
  name: string,
  namespace: string,
  { naming, ...rest }: Pick<WrittenSecret, "hashed" | "values" | "plain" | "files"> & { readonly naming: Naming },
): WrittenSecret {
  return { ...rest, name: `${naming.prefix}${name}${naming.suffix}`, namespace: naming.namespace ?? namespace };
}

/** Files are compared by their Git object, and never read. */
function ofGenerator(
  { entry, directory, path, naming, hashed }: SecretGenerator,
  texts: ReadonlyMap<string, string>,
  tree: RepositoryTree,
): readonly WrittenSecret[] | undefined {
  const { name, namespace = "" } = entry;
  const [files, literals] = [filesOf(entry, directory), textsOf(entry.literals)];
  if (typeof name !== "string" || typeof namespace !== "string") return undefined;
  if (files === undefined || literals === undefined) return undefined;
  const values = new Map<string, string>();
  for (const literal of literals) setPair(values, literal, (value) => value.replace(/^(["'])(.*)\1$/s, "$2"));
  for (const { key, path: file } of files) {
    const text = texts.get(file);
    if (key !== undefined) values.set(key, `file ${tree.entryAt(file)?.blob ?? ""}`);
    else if (text === undefined) return undefined;
    else {
      for (const line of text.split("\n")) {
        if (!/^\s*(?:#|$)/.test(line)) setPair(values, line.trimStart(), (value) => value);
      }
    }
  }
  return [
    named(name, namespace, { naming, hashed, values, plain: [], files: [path, ...files.map((file) => file.path)] }),
  ];
}

function envFilesOf({ entry, directory }: SecretGenerator): readonly string[] {
  return (filesOf(entry, directory) ?? []).flatMap(({ key, path }) => (key === undefined ? [path] : []));
}

function setPair(values: Map<string, string>, pair: string, change: (value: string) => string): void {
  const at = pair.indexOf("=");
  if (at === -1) values.set(pair.trim(), "");
  else values.set(pair.slice(0, at), change(pair.slice(at + 1)));
}
