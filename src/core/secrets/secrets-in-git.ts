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
import { RepositoryFailure } from "../model/errors.js";
import { ChangedPaths } from "../model/input-set.js";
import { isJsonObject, type Json } from "../model/json.js";
import type { LiveSubject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import type { OpenedTree, RepositoryTree } from "../ports/snapshot.js";
import { isSecretKind } from "./hide-values.js";
import { type ChangedSecret, secretName, type SecretsInGit } from "./secret-changes.js";

/**
 * The keys of Secrets that change in plain manifests: in the files of an application with one source, a directory that Argo CD
 * applies as it stands in git. No value leaves this function.
 */
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

/** Whether no attribute of git makes something else of a file than what is stored. */
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

/** By name; undefined if Argo CD may read a file in another way, or if a Secret stands there twice. */
async function secretsIn(
  files: readonly string[],
  tree: RepositoryTree,
  namespace: string,
): Promise<ReadonlyMap<string, WrittenSecret> | undefined> {
  const texts = await tree.readTexts(files);
  const found: WrittenSecret[] = [];
  for (const file of files) {
    const text = texts.get(file);
    // Argo CD may replace a pointer of LFS by the file.
    if (text === undefined || text.startsWith("version https://git-lfs")) return undefined;
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
  const { apiVersion, kind, metadata, data, stringData } = document;
  if (typeof kind !== "string" || kind.endsWith("List")) return undefined;
  // Argo CD masks only Secrets of the core group.
  if (kind === "Secret" && typeof apiVersion === "string" && apiVersion.includes("/")) return [];
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
