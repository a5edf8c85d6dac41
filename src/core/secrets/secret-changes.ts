import { mapMembers } from "../model/effect.js";
import { isJsonObject, type JsonObject } from "../model/json.js";
import type { SecretChange } from "../model/plan/manifest-diff.js";
import { isDataKey, isMasked, isSecret } from "./hide-values.js";

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
