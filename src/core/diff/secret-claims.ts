import { mapMembers } from "../model/effect.js";
import { isJsonObject, type Json, type JsonObject } from "../model/json.js";
import type { NameChanges, SecretChange } from "../model/manifest-diff.js";
import { isMasked } from "../secrets/hide-values.js";
import { isDataKey, isSecret } from "../secrets/secret-object.js";
import type { DiffRequest } from "./manifest-diff.js";
import { byIdentity, keyOf, type ManifestIdentity } from "./manifest-key.js";
import type { Sides } from "./summarise.js";

/** What git tells about the values of Secrets that Argo CD hides. */
export type SecretsInGit =
  /** Nothing: what changed may have changed any of them. */
  | { readonly kind: "untold"; readonly files: readonly string[] }
  /** All other Secrets are rendered from the same content on both sides. `files` are those that changed. */
  | { readonly kind: "told"; readonly claims: readonly SecretClaim[]; readonly files: readonly string[] };

/** A Secret that changed files hold. */
export interface SecretClaim {
  readonly namespace: string;
  readonly name: string;
  /** Kustomize appends a hash of the content to the name. */
  readonly hashed: boolean;
  /** The sorted keys of each side; undefined where no changed file holds it. */
  readonly base: readonly string[] | undefined;
  readonly head: readonly string[] | undefined;
  /** The keys of both sides whose values differ. */
  readonly changed: readonly string[];
  /** Keys of the base, written as `stringData`, that the head does not have: the cluster keeps them. */
  readonly kept: readonly string[];
  readonly files: readonly string[];
}

/** A rendered Secret by the key of its pair. */
type Rendered = readonly [string, Sides];

export interface ToldSecrets {
  /** The renders, with marks instead of masks in the Secrets whose changes git tells. */
  readonly pairs: ReadonlyMap<string, Sides>;
  /** The Secrets whose values change or may. */
  readonly secrets: readonly SecretChange[];
  /** The keys of a Secret that the cluster keeps although the head no longer has them; undefined if git does not tell. */
  readonly keptKeys: (identity: ManifestIdentity) => readonly string[] | undefined;
}

/**
 * What is known about the Secrets of two renders. Git is believed only where it agrees with what Argo CD rendered: each
 * Secret once, with the same keys.
 */
export function tellSecrets(pairs: ReadonlyMap<string, Sides>, request: DiffRequest, git: SecretsInGit): ToldSecrets {
  const secrets = [...pairs].filter(([, { identity }]) => isSecret(identity));
  if (secrets.length === 0) return { pairs, secrets: [], keptKeys: () => undefined };
  const masked = secrets.filter(
    ([, { base, head }]) => base !== undefined && head !== undefined && isHidden(base, head),
  );
  const unsure = (some: readonly Rendered[]) =>
    some.map(([, { identity }]) => ({ name: nameOf(identity), keys: undefined, files: git.files }));
  if (git.kind === "untold") return { pairs, secrets: unsure(masked), keptKeys: () => undefined };
  const twice = new Set([
    ...renderedTwice(request.base, request.baseNamespace),
    ...renderedTwice(request.head, request.destinationNamespace),
  ]);
  const once = secrets.filter(([key]) => !twice.has(key));
  const fitting = git.claims.flatMap((claim) => {
    const [base, head] = [sideOf(claim, claim.base, once, "base"), sideOf(claim, claim.head, once, "head")];
    if (base === undefined || head === undefined) return [];
    // The hash in a name follows the content.
    const hashAgrees = !claim.hashed || base[0] !== head[0] || changeOf(claim).length === 0;
    return hashAgrees ? [{ claim, keys: [...new Set([...base, ...head])] }] : [];
  });
  const told = new Map<string, SecretClaim>();
  for (const { claim, keys } of fitting) for (const key of keys) told.set(key, claim);
  // A claim that does not fit shows that Argo CD renders something else than what was read.
  const certain = fitting.length === git.claims.length && told.size === fitting.flatMap(({ keys }) => keys).length;
  const open = certain ? masked.filter(([key, sides]) => twice.has(key) || isHiddenElsewhere(sides)) : masked;
  const openKeys = new Set(open.map(([key]) => key));
  const marked = secrets.flatMap(([key, sides]): Rendered[] =>
    openKeys.has(key) ? [] : [[key, withMarks(sides, told.get(key)?.changed ?? [])]],
  );
  const changes = certain
    ? fitting.filter(({ keys }) => !keys.some((key) => openKeys.has(key))).flatMap(({ claim }) => changeOf(claim))
    : [];
  const keptKeys = (identity: ManifestIdentity) => {
    const key = keyOf(identity);
    return certain && !openKeys.has(key) ? (told.get(key)?.kept ?? []) : undefined;
  };
  return { pairs: new Map([...pairs, ...marked]), secrets: [...changes, ...unsure(open)], keptKeys };
}

/** The key of the pair that has the side of a claim, none if there is to be none; undefined if that is not what is rendered. */
function sideOf(
  claim: SecretClaim,
  keys: readonly string[] | undefined,
  secrets: readonly Rendered[],
  side: "base" | "head",
): readonly string[] | undefined {
  const found = secrets.filter(([, sides]) => sides[side] !== undefined && isNamed(claim, sides.identity));
  if (keys === undefined) return found.length === 0 ? [] : undefined;
  const [first, ...more] = found;
  if (first === undefined || more.length > 0) return undefined;
  return keysOf(first[1][side]).join("\n") === keys.join("\n") ? [first[0]] : undefined;
}

function isNamed({ namespace, name, hashed }: SecretClaim, identity: ManifestIdentity): boolean {
  if (identity.namespace !== namespace) return false;
  if (!hashed) return identity.name === name;
  return identity.name.startsWith(`${name}-`) && /^[a-z0-9]{10}$/.test(identity.name.slice(name.length + 1));
}

/** Secrets that are created or deleted are in the diff with all their keys. */
function changeOf({ namespace, name, base, head, changed, files }: SecretClaim): readonly SecretChange[] {
  if (base === undefined || head === undefined) return [];
  const keys: NameChanges = {
    created: head.filter((key) => !base.includes(key)),
    changed,
    deleted: base.filter((key) => !head.includes(key)),
  };
  if (Object.values(keys).every((some: readonly string[]) => some.length === 0)) return [];
  // Anything else in the place of a key may be a value.
  const shown = (some: readonly string[]) => some.map((key) => (isDataKey(key) ? key : "(hidden key)"));
  const { created, deleted } = keys;
  return [
    {
      name: nameOf({ namespace, name }),
      keys: { created: shown(created), changed: shown(changed), deleted: shown(deleted) },
      files,
    },
  ];
}

function nameOf({ namespace, name }: Pick<ManifestIdentity, "namespace" | "name">): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}

function renderedTwice(manifests: DiffRequest["base"], namespace: string): readonly string[] {
  const secrets = manifests.filter(({ kind }) => kind === "Secret" || kind === "SecretList" || kind === "List");
  return [...byIdentity(secrets, namespace)].flatMap(([key, { times }]) => (times > 1 ? [key] : []));
}

function keysOf(secret: JsonObject | undefined): readonly string[] {
  return Object.keys(dataOf(secret)).sort();
}

function dataOf(secret: JsonObject | undefined): JsonObject {
  return isJsonObject(secret?.data) ? secret.data : {};
}

function isHidden(base: JsonObject, head: JsonObject): boolean {
  return (
    [base, head].some((side) => Object.values(dataOf(side)).some(isMaskedText)) ||
    hidesElsewhere(base) ||
    hidesElsewhere(head)
  );
}

function isHiddenElsewhere({ base, head }: Sides): boolean {
  return (base !== undefined && hidesElsewhere(base)) || (head !== undefined && hidesElsewhere(head));
}

/** Argo CD masks annotations as well, if it is told to. */
function hidesElsewhere({ metadata }: JsonObject): boolean {
  const annotations = isJsonObject(metadata) && isJsonObject(metadata.annotations) ? metadata.annotations : {};
  return Object.values(annotations).some(isMaskedText);
}

function isMaskedText(value: Json | undefined): boolean {
  return value !== undefined && isMasked(value);
}

/** A Secret with marks for its values that say whether they differ, and nothing else about them. */
function withMarks({ base, head, ...rest }: Sides, changed: readonly string[]): Sides {
  const marked = (side: JsonObject | undefined, mark: string) => {
    if (!isJsonObject(side?.data)) return side;
    const data = mapMembers(side.data, (value, key) => {
      if (changed.includes(key)) return mark;
      return isMasked(value) ? "the same" : value;
    });
    return { ...side, data };
  };
  return { ...rest, base: marked(base, "before"), head: marked(head, "after") };
}
