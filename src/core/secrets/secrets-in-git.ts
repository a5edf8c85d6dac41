import { readsOnlyPinned, touchedPaths } from "../detect/inputs/input-set.js";
import { inputsOf } from "../detect/inputs/inputs.js";
import { hasKustomization } from "../detect/inputs/tool-inputs.js";
import { mayHoldSecret } from "../detect/scan/resources.js";
import { cleanPath, isAttributesFile, parentOf } from "../detect/tree/repository-path.js";
import {
  type ApplicationSpec,
  destinationOf,
  isMultiSource,
  type Source,
  sourcesOf,
  specEqual,
} from "../model/application.js";
import { ChangedPaths } from "../model/collections.js";
import { mapMembers } from "../model/effect.js";
import { RepositoryFailure } from "../model/errors.js";
import { isJsonObject, type Json, type JsonObject } from "../model/json.js";
import type { SecretChange } from "../model/plan/manifest-diff.js";
import type { LiveSubject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import type { OpenedTree, RepositoryTree } from "../ports/snapshot.js";
import { isDataKey, isMasked, isSecret, isSecretKind } from "./hide-values.js";

/** The keys of Secrets that change in the plain manifests of an application with one source. No value leaves this function. */
export async function secretsInGit(
  { base, head, live, sourceFile }: LiveSubject,
  { change: { baseRevision, headRevision }, snapshot }: Pick<CommandContext, "change" | "snapshot">,
): Promise<SecretsInGit> {
  try {
    const [before, after] = [await snapshot.tree(baseRevision), await snapshot.tree(headRevision)];
    const inputs = [
      ...(await inputsOf({ ...live, spec: base.spec }, base.positions, snapshot, baseRevision)),
      ...(await inputsOf({ ...live, spec: head.spec }, head.positions, snapshot, headRevision)),
    ];
    const touched = touchedPaths(inputs, new ChangedPaths(await snapshot.changedPaths(baseRevision, headRevision)));
    const isSame = specEqual(sourcesIn(base.spec), sourcesIn(head.spec));
    const definition = isSame || sourceFile === undefined ? [] : [sourceFile];
    const isDirectory =
      isSame &&
      !isMultiSource(head.spec) &&
      live.sourceTypes[0] === "Directory" &&
      [base, head].every(({ positions }) => readsOnlyPinned(head.spec, positions, inputs));
    return {
      changed: isDirectory ? await changedSecrets(head.spec, before, after) : undefined,
      files: [...definition, ...touched].slice(0, 4),
    };
  } catch (error) {
    if (error instanceof RepositoryFailure) return { changed: undefined, files: [] };
    throw error;
  }
}

/** The part of a definition that decides what is rendered. */
function sourcesIn({ source, sources, sourceHydrator, destination, project }: ApplicationSpec): ApplicationSpec {
  return { source, sources, sourceHydrator, destination, project };
}

/** The Secrets in changed manifests; undefined if something else may have changed a Secret. */
async function changedSecrets(
  spec: ApplicationSpec,
  base: OpenedTree,
  head: OpenedTree,
): Promise<readonly ChangedSecret[] | undefined> {
  const [source] = sourcesOf(spec);
  if (source === undefined || !(await isCheckedOutAsStored(base)) || !(await isCheckedOutAsStored(head))) {
    return undefined;
  }
  const [before, after] = [plainManifests(source, spec, base), plainManifests(source, spec, head)];
  if (before === undefined || after === undefined) return undefined;
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => before.get(path) !== after.get(path),
  );
  const { namespace } = destinationOf(spec);
  const [old, young] = [
    await secretsIn(
      changed.filter((path) => before.has(path)),
      base,
      namespace,
    ),
    await secretsIn(
      changed.filter((path) => after.has(path)),
      head,
      namespace,
    ),
  ];
  if (old === undefined || young === undefined) return undefined;
  return [...new Set([...old.keys(), ...young.keys()])].map((name) => {
    const [one, other] = [old.get(name), young.get(name)];
    const isChanged = (key: string) =>
      other?.values.has(key) === true && other.values.get(key) !== one?.values.get(key);
    return {
      name,
      base: one && [...one.values.keys()],
      head: other && [...other.values.keys()],
      changed: [...(one?.values.keys() ?? [])].filter(isChanged),
      stays: other === undefined ? [] : (one?.plain ?? []).filter((key) => !other.values.has(key)),
      files: [...new Set([one, other].flatMap((side) => side?.file ?? []))],
    };
  });
}

/** Whether a checkout leaves the file as it is stored: no attribute of git changes it. */
async function isCheckedOutAsStored(tree: OpenedTree): Promise<boolean> {
  const listed = tree.digest("gitattributes", () => {
    const paths = tree.entriesIn("").map(({ path }) => path);
    return paths.filter(isAttributesFile).join("\n");
  });
  const paths = listed === "" ? [] : listed.split("\n");
  const texts = await tree.readTexts(paths);
  return texts.size === paths.length && ![...texts.values()].some((text) => /filter|ident|encoding/.test(text));
}

/** The id of each manifest's content by path; undefined if the directory is not applied as it stands in git. */
function plainManifests(
  { path: written, helm, kustomize, plugin, directory }: Source,
  spec: ApplicationSpec,
  tree: RepositoryTree,
): ReadonlyMap<string, string> | undefined {
  const path = cleanPath(written);
  const isLinked = tree.follow(path).links.length > 0 || tree.linksIn(path).length > 0 || tree.touchesSubmodule(path);
  const isBuilt = !directory && (hasKustomization(path, tree) || tree.hasFile(cleanPath(path, "Chart.yaml")));
  if (isLinked || isBuilt || helm !== undefined || kustomize !== undefined || plugin) return undefined;
  const block = isJsonObject(spec.source) ? spec.source.directory : undefined;
  const recurses = isJsonObject(block) && block.recurse === true;
  const files = tree.entriesIn(path).filter((entry) => recurses || parentOf(entry.path) === path);
  // Jsonnet computes what it renders; the other file has parameters for the source.
  if (files.some((entry) => /\.jsonnet$|(?:^|\/)\.argocd-source[^/]*\.yaml$/i.test(entry.path))) return undefined;
  const manifests = files.filter((entry) => /\.(?:ya?ml|json)$/i.test(entry.path));
  return new Map(manifests.map((entry) => [entry.path, entry.blob]));
}

/** A Secret as git has it. Its values must not leave the comparison. */
interface WrittenSecret {
  /** `shop/payments`. */
  readonly name: string;
  /** Values in base64. */
  readonly values: ReadonlyMap<string, string>;
  /** The keys that are written as `stringData` alone. */
  readonly plain: readonly string[];
  readonly file: string;
}

/** The Secrets by name; undefined if Argo CD may read a file in another way, or if a Secret stands there twice. */
async function secretsIn(
  files: readonly string[],
  tree: RepositoryTree,
  namespace: string,
): Promise<ReadonlyMap<string, WrittenSecret> | undefined> {
  const texts = await tree.readTexts(files);
  const found: WrittenSecret[] = [];
  for (const file of files) {
    const text = texts.get(file);
    if (text === undefined) return undefined;
    if (!mayHoldSecret(text)) continue;
    const secrets = (await tree.parseYaml(text))?.map((document) => secretsOf(document, namespace, file));
    if (!secrets?.every((some) => some !== undefined)) return undefined;
    found.push(...secrets.flat());
  }
  const byName = new Map(found.map((secret) => [secret.name, secret]));
  return byName.size === found.length ? byName : undefined;
}

/** At most one; undefined for what may hold a Secret in a form that is not read here, such as a list. */
function secretsOf(document: Json, destination: string, file: string): readonly WrittenSecret[] | undefined {
  if (!isJsonObject(document)) return document === null ? [] : undefined;
  const { apiVersion, kind, metadata, data, stringData, items } = document;
  // An object with `items` is a list to Argo CD, whatever its kind says.
  if (typeof kind !== "string" || kind.endsWith("List") || Array.isArray(items)) return undefined;
  // Argo CD masks only Secrets of the core group, which `/v1` names as well.
  if (kind === "Secret" && typeof apiVersion === "string" && apiVersion.indexOf("/") > 0) return [];
  if (kind !== "Secret") return isSecretKind(kind) ? undefined : [];
  const { name, namespace = "" } = isJsonObject(metadata) ? metadata : {};
  const encoded = textsIn(data, (value) => value.replace(/\s/g, ""));
  const plain = textsIn(stringData, (value) => Buffer.from(value).toString("base64"));
  if (typeof name !== "string" || name === "" || typeof namespace !== "string" || !encoded || !plain) return undefined;
  const values = new Map([...encoded, ...plain]);
  const alone = [...plain.keys()].filter((key) => !encoded.has(key));
  return [{ name: secretName(namespace || destination, name), values, plain: alone, file }];
}

function textsIn(map: Json | undefined, encode: (value: string) => string): ReadonlyMap<string, string> | undefined {
  if (map === undefined || map === null) return new Map();
  const entries = isJsonObject(map) ? Object.entries(map) : [["", undefined] as const];
  const texts = entries.flatMap(([key, value]) => (typeof value === "string" ? [[key, encode(value)] as const] : []));
  return texts.length === entries.length ? new Map(texts) : undefined;
}

/** What git tells about the Secrets of an application, whose values Argo CD hides. */
export interface SecretsInGit {
  /** All Secrets of changed manifests; undefined if others may have changed too. */
  readonly changed: readonly ChangedSecret[] | undefined;
  /** The first changed files that a Secret may be rendered from. */
  readonly files: readonly string[];
}

/** A Secret in changed manifests, by its keys. */
export interface ChangedSecret {
  /** `shop/payments`. */
  readonly name: string;
  /** The keys of each side; undefined where no changed manifest has it. */
  readonly base: readonly string[] | undefined;
  readonly head: readonly string[] | undefined;
  /** The keys of both sides whose values differ. */
  readonly changed: readonly string[];
  /** Keys of the base, written as `stringData`, that the head does not have: the cluster keeps them. */
  readonly stays: readonly string[];
  readonly files: readonly string[];
}

/** An object in both renders. */
interface Pair {
  readonly identity: Readonly<Record<"group" | "kind" | "namespace" | "name", string>>;
  readonly base: JsonObject | undefined;
  readonly head: JsonObject | undefined;
}

export interface ComparedSecrets<P> {
  /** Those whose values change, or may. */
  readonly secrets: readonly SecretChange[];
  /** The renders, with marks instead of masks in the Secrets whose changes git tells. */
  readonly pairs: ReadonlyMap<string, P>;
  /** The keys of a Secret that the cluster keeps although the head does not have them; undefined if git does not tell. */
  readonly stayingKeys: (identity: Pair["identity"]) => readonly string[] | undefined;
}

/**
 * Compares Secrets with what git tells about them, which is believed only if it agrees with all that Argo CD rendered: each
 * Secret once, with the same keys.
 * @param twice keys of the pairs that a render has more than once.
 */
export function compareSecrets<P extends Pair>(
  pairs: ReadonlyMap<string, P>,
  { changed, files }: SecretsInGit,
  twice: ReadonlySet<string>,
): ComparedSecrets<P> {
  const rendered = [...pairs].filter(([, { identity }]) => isSecret(identity));
  const nameOf = ({ identity: { namespace, name } }: Pick<P, "identity">) => secretName(namespace, name);
  const once = new Map(rendered.flatMap(([key, pair]) => (twice.has(key) ? [] : [[nameOf(pair), pair] as const])));
  const agrees = changed?.every((one) => hasKeysOf(one, once.get(one.name))) === true;
  const isUnsure = ([key, pair]: readonly [string, P]) =>
    pair.base !== undefined &&
    pair.head !== undefined &&
    (agrees && !twice.has(key) ? isMaskedIn(pair, annotationsOf) : isMaskedIn(pair, dataOf, annotationsOf));
  const unsure = rendered.filter(isUnsure);
  const sure = agrees ? rendered.filter((one) => !isUnsure(one)) : [];
  const inGit = (pair: Pick<P, "identity">) => changed?.find(({ name }) => name === nameOf(pair));
  return {
    secrets: [
      ...sure.flatMap(([, pair]) => changeOf(inGit(pair))),
      ...unsure.map(([, pair]) => ({ name: nameOf(pair), keys: undefined, files })),
    ],
    pairs: new Map([
      ...pairs,
      ...sure.map(([key, pair]) => [key, withMarks(pair, inGit(pair)?.changed ?? [])] as const),
    ]),
    stayingKeys: (identity) =>
      sure.some(([, pair]) => nameOf(pair) === nameOf({ identity })) ? (inGit({ identity })?.stays ?? []) : undefined,
  };
}

/** `shop/payments`. */
export function secretName(namespace: string, name: string): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}

function hasKeysOf({ base, head }: ChangedSecret, pair: Pair | undefined): boolean {
  const isSame = (side: JsonObject | undefined, keys: readonly string[] | undefined) =>
    (side && Object.keys(dataOf(side)).sort().join("\n")) === keys?.toSorted().join("\n");
  return pair !== undefined && isSame(pair.base, base) && isSame(pair.head, head);
}

/** Secrets that are created or deleted are in the diff with all their keys. */
function changeOf(one: ChangedSecret | undefined): readonly SecretChange[] {
  if (one?.base === undefined || one.head === undefined) return [];
  const { name, base, head, changed, files } = one;
  // Anything else in the place of a key may be a value.
  const shown = (keys: readonly string[]) => keys.map((key) => (isDataKey(key) ? key : "(hidden key)"));
  const created = shown(head.filter((key) => !base.includes(key)));
  const deleted = shown(base.filter((key) => !head.includes(key)));
  const isChange = created.length + changed.length + deleted.length > 0;
  return isChange ? [{ name, keys: { created, changed: shown(changed), deleted }, files }] : [];
}

function dataOf(secret: JsonObject): JsonObject {
  return isJsonObject(secret.data) ? secret.data : {};
}

/** Argo CD masks annotations as well, if it is configured to. */
function annotationsOf({ metadata }: JsonObject): JsonObject {
  return isJsonObject(metadata) && isJsonObject(metadata.annotations) ? metadata.annotations : {};
}

function isMaskedIn({ base, head }: Pair, ...parts: readonly ((secret: JsonObject) => JsonObject)[]): boolean {
  const values = [base, head].flatMap((side) => parts.flatMap((part) => Object.values(part(side ?? {}))));
  return values.some((value) => value !== undefined && isMasked(value));
}

/** A Secret with marks for its values that say whether they differ, and nothing else about them. */
function withMarks<P extends Pair>(pair: P, changed: readonly string[]): P {
  const marked = (side: JsonObject | undefined, mark: string) =>
    isJsonObject(side?.data)
      ? {
          ...side,
          data: mapMembers(side.data, (value, key) =>
            changed.includes(key) ? mark : isMasked(value) ? "the same" : value,
          ),
        }
      : side;
  return { ...pair, base: marked(pair.base, "before"), head: marked(pair.head, "after") };
}
