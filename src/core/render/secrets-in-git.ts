import { matchesPath } from "../../config/pattern.js";
import { inputFingerprint, readsOnlyPinned, touchedPaths } from "../detect/inputs/input-set.js";
import { inputsOf } from "../detect/inputs/inputs.js";
import type { SecretPiece, SecretPieces } from "../detect/scan/secret-piece.js";
import { secretPieces } from "../detect/scan/secret-pieces.js";
import { type WrittenSecret, writtenSecrets } from "../detect/scan/written-secrets.js";
import type { SecretClaim, SecretsInGit } from "../diff/secret-claims.js";
import { isMultiSource, sourcesOf, specEqual } from "../model/application-spec.js";
import { type ApplicationSpec, destinationOf, type Manifest } from "../model/application.js";
import { isList } from "../model/effect.js";
import { RepositoryFailure } from "../model/errors.js";
import { ChangedPaths, type InputSet } from "../model/input-set.js";
import { isJsonObject, type JsonObject, type JsonText } from "../model/json.js";
import type { LiveSubject } from "../model/subject.js";
import type { Commits, OpenedChange } from "../ports/context.js";
import type { OpenedTree } from "../ports/snapshot.js";
import { otherPatterns } from "./render-inputs.js";

/** The renders of both sides. */
interface Renders {
  readonly base: { readonly manifests: JsonText<readonly Manifest[]> };
  readonly head: { readonly manifests: JsonText<readonly Manifest[]> };
}

const NO_SECRETS: SecretsInGit = { kind: "told", claims: [], files: [] };

/**
 * What git tells about the Secrets of an application, whose values Argo CD hides. It is read only if one is rendered, and no
 * value leaves this function.
 */
export async function secretsInGit(
  subject: LiveSubject,
  { base, head }: Renders,
  context: OpenedChange,
): Promise<SecretsInGit> {
  if (![base, head].some(({ manifests }) => manifests.includes('"Secret'))) return NO_SECRETS;
  try {
    const { baseRevision, headRevision } = context.change;
    const sides = { base: await sideAt("base", subject, context), head: await sideAt("head", subject, context) };
    const changed = await context.snapshot.changedPaths(baseRevision, headRevision);
    const touched = touchedPaths([...sides.base.inputs, ...sides.head.inputs], new ChangedPaths(changed));
    const patterns = otherPatterns(subject, context.settings);
    const others = changed.filter(
      (path) => CHECKOUT_FILE.test(path) || (!touched.includes(path) && patterns.some((one) => matchesPath(one, path))),
    );
    const sameSources = specEqual(sourcesIn(subject.base.spec), sourcesIn(subject.head.spec));
    const definition = sameSources || subject.sourceFile === undefined ? [] : [subject.sourceFile];
    const files = firstOf([...definition, ...touched, ...others]);
    const claims = sameSources && others.length === 0 ? await claimsOf(subject, sides) : undefined;
    if (claims === undefined) return { kind: "untold", files };
    const inChanged = (of: readonly string[]) => firstOf(of.filter((path) => changed.includes(path)));
    return { kind: "told", claims: claims.map((one) => ({ ...one, files: inChanged(one.files) })), files };
  } catch (error) {
    if (error instanceof RepositoryFailure) return { kind: "untold", files: [] };
    throw error;
  }
}

/** An application at one commit. */
interface SideAt {
  readonly tree: OpenedTree;
  readonly inputs: InputSet;
}

async function sideAt(side: "base" | "head", subject: LiveSubject, { change, snapshot }: Commits): Promise<SideAt> {
  const at = side === "head" ? change.headRevision : change.baseRevision;
  const { spec, positions } = subject[side];
  return { tree: await snapshot.tree(at), inputs: await inputsOf({ ...subject.live, spec }, positions, snapshot, at) };
}

/** The part of a definition that decides what is rendered. */
function sourcesIn({ source, sources, sourceHydrator, destination, project }: ApplicationSpec): ApplicationSpec {
  return { source, sources, sourceHydrator, destination, project };
}

const MOST_FILES = 4;

/** Those that say it first. */
function firstOf(paths: readonly string[]): readonly string[] {
  const [named, others] = [true, false].map((wanted) => paths.filter((path) => /secret/i.test(path) === wanted));
  return [...new Set([...(named ?? []), ...(others ?? [])])].slice(0, MOST_FILES);
}

/** The Secrets of all pieces that differ; undefined if that is not all that may change one. */
async function claimsOf(
  subject: LiveSubject,
  { base, head }: Readonly<Record<"base" | "head", SideAt>>,
): Promise<readonly SecretClaim[] | undefined> {
  const { spec, positions, fixed } = subject.head;
  const pinned = [...positions, ...fixed.map(({ position }) => position)];
  if (JSON.stringify([subject.base.positions, subject.base.fixed]) !== JSON.stringify([positions, fixed])) {
    return undefined;
  }
  if (![base, head].every(({ inputs }) => readsOnlyPinned(spec, pinned, inputs))) return undefined;
  if (!(await isCheckedOutAsWritten(head.tree))) return undefined;
  const different: { base: SecretPiece[]; head: SecretPiece[] } = { base: [], head: [] };
  for (const part of head.inputs) {
    const before = base.inputs.filter(({ position }) => position === part.position);
    if (inputFingerprint(before, base.tree) === inputFingerprint([part], head.tree)) continue;
    const source = sourcesOf(spec)[part.position - 1];
    if (source === undefined || !positions.includes(part.position)) return undefined;
    const type = subject.live.sourceTypes[part.position - 1] ?? "";
    const own = { source, written: writtenSource(spec, part.position), type };
    const [old, young] = [await secretPieces(own, base.tree), await secretPieces(own, head.tree)];
    if (old === undefined || young === undefined) return undefined;
    different.base.push(...onlyIn(old, young));
    different.head.push(...onlyIn(young, old));
  }
  if (different.base.length + different.head.length > MOST_PIECES) return undefined;
  const [before, after] = [
    await writtenSecrets(different.base, base.tree),
    await writtenSecrets(different.head, head.tree),
  ];
  return before && after && compared(before, after, destinationOf(spec).namespace);
}

const MOST_PIECES = 500;
const CHECKOUT_FILE = /(?:^|\/)\.(?:gitattributes|gitmodules|lfsconfig)$/;

/** Whether no attribute of git makes something else of a file than what is stored. */
async function isCheckedOutAsWritten(tree: OpenedTree): Promise<boolean> {
  const listed = tree.digest("gitattributes", () =>
    tree
      .entriesIn("")
      .flatMap(({ path }) => (/(?:^|\/)\.gitattributes$/.test(path) ? [path] : []))
      .join("\n"),
  );
  if (listed === "") return true;
  const paths = listed.split("\n");
  const texts = await tree.readTexts(paths);
  return texts.size === paths.length && ![...texts.values()].some((text) => /filter|ident|encoding/.test(text));
}

function writtenSource(spec: ApplicationSpec, position: number): JsonObject {
  const source = isMultiSource(spec) && isList(spec.sources) ? spec.sources[position - 1] : spec.source;
  return isJsonObject(source) ? source : {};
}

function onlyIn(some: SecretPieces, others: SecretPieces): readonly SecretPiece[] {
  return [...some].flatMap(([key, piece]) => (others.has(key) ? [] : [piece]));
}

const MOST_KEYS = 200;

/** Undefined if a side has a Secret twice, or one with too many keys to tell. */
function compared(
  before: readonly WrittenSecret[],
  after: readonly WrittenSecret[],
  destination: string,
): readonly SecretClaim[] | undefined {
  const key = ({ namespace, name, hashed }: WrittenSecret) => JSON.stringify([namespace || destination, name, hashed]);
  const [old, young] = [before, after].map((some) => new Map(some.map((one) => [key(one), one])));
  if (old?.size !== before.length || young?.size !== after.length) return undefined;
  const claims = [...new Set([...old.keys(), ...young.keys()])].map((one) =>
    claimOf(old.get(one), young.get(one), destination),
  );
  return claims.every((claim) => claim !== undefined) ? claims : undefined;
}

function claimOf(
  base: WrittenSecret | undefined,
  head: WrittenSecret | undefined,
  destination: string,
): SecretClaim | undefined {
  const secret = head ?? base;
  if (secret === undefined || [base, head].some((side) => (side?.values.size ?? 0) > MOST_KEYS)) return undefined;
  const keys = (side: WrittenSecret | undefined) => side && [...side.values.keys()].sort();
  return {
    namespace: secret.namespace || destination,
    name: secret.name,
    hashed: secret.hashed,
    base: keys(base),
    head: keys(head),
    changed: [...(base?.values ?? [])].flatMap(([name, value]) => {
      const other = head?.values.get(name);
      return other === undefined || other === value ? [] : [name];
    }),
    kept: head === undefined ? [] : (base?.plain ?? []).filter((name) => !head.values.has(name)),
    files: [...(base?.files ?? []), ...(head?.files ?? [])],
  };
}
