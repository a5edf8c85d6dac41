import { isList, ownMember } from "../../model/effect.js";
import { isJsonObject, type Json, type JsonObject } from "../../model/json.js";
import { keyed, listRule } from "../list-rules.js";
import type { ManifestIdentity } from "../manifest-key.js";

/** A member by its name, or an element of a list: by its key as `keyed` writes it, which holds in every version, or else by its place. */
type Step = string | { readonly key: string | undefined; readonly at: number };

/** Where a value is in the versions of one object. */
export class FieldPath {
  constructor(
    readonly identity: ManifestIdentity,
    readonly steps: readonly Step[] = [],
  ) {}

  /** What a JSON pointer (RFC 6901) points at in an object. */
  static of(pointer: string, identity: ManifestIdentity, object: JsonObject): FieldPath {
    let value: Json | undefined = object;
    let path = new FieldPath(identity);
    for (const part of pointer.split("/").slice(1)) {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      const at = isList(value) && /^\d+$/.test(name) ? Number(name) : undefined;
      const step = at === undefined || !isList(value) ? name : { key: path.#keysOf(value)?.[at], at };
      value = path.#inside(value, step);
      path = path.#below(step);
    }
    return path;
  }

  /** `/spec/template/spec/containers/0/image`. */
  get text(): string {
    return `/${this.steps.map((step) => (typeof step === "string" ? step : String(step.at))).join("/")}`;
  }

  /** The paths below this one of what only the first of two values has. Lists whose elements cannot be paired are left out. */
  missing(whole: Json, part: Json): readonly FieldPath[] {
    if (isJsonObject(whole) && isJsonObject(part)) {
      return Object.entries(whole).flatMap(([name, value]) => {
        if (value === undefined) return [];
        const other = ownMember(part, name);
        return other === undefined ? [this.#below(name)] : this.#below(name).missing(value, other);
      });
    }
    if (!isList(whole) || !isList(part)) return [];
    const [keys, others] = [this.#keysOf(whole), this.#keysOf(part)];
    if ((keys === undefined || others === undefined) && whole.length !== part.length) return [];
    return whole.flatMap((item, at) => {
      const step = { key: others && keys?.[at], at };
      const other = part[step.key === undefined ? at : (others ?? []).indexOf(step.key)];
      return other === undefined ? [this.#below(step)] : this.#below(step).missing(item, other);
    });
  }

  valueIn(object: JsonObject | undefined): Json | undefined {
    let value: Json | undefined = object;
    let path = new FieldPath(this.identity);
    for (const step of this.steps) {
      value = path.#inside(value, step);
      path = path.#below(step);
    }
    return value;
  }

  /** The object with this value, or without any and without objects that this leaves empty, as in Argo CD. */
  writtenTo(object: JsonObject, to: Json | undefined): JsonObject {
    const write = (value: Json | undefined, path: FieldPath): Json | undefined => {
      const step = this.steps[path.steps.length];
      if (step === undefined) return to;
      const below = path.#below(step);
      if (typeof step !== "string") {
        if (!isList(value)) return value;
        const index = path.#indexOf(step, value);
        return value.flatMap((item, at) => {
          const kept = at === index ? write(item, below) : item;
          return kept === undefined ? [] : [kept];
        });
      }
      if (value !== undefined && !isJsonObject(value)) return value;
      const before = value && ownMember(value, step);
      if (before === undefined && to === undefined) return value;
      const kept = write(before, below);
      const others = Object.entries(value ?? {}).filter(([name]) => name !== step);
      const emptied = to === undefined && isJsonObject(kept) && Object.keys(kept).length === 0;
      return Object.fromEntries(kept === undefined || emptied ? others : [...others, [step, kept]]);
    };
    const changed = write(object, new FieldPath(this.identity));
    return isJsonObject(changed) ? changed : {};
  }

  #below(step: Step): FieldPath {
    return new FieldPath(this.identity, [...this.steps, step]);
  }

  #inside(value: Json | undefined, step: Step): Json | undefined {
    if (typeof step === "string") return isJsonObject(value) ? ownMember(value, step) : undefined;
    return isList(value) ? value[this.#indexOf(step, value)] : undefined;
  }

  #indexOf({ key, at }: Exclude<Step, string>, list: readonly Json[]): number {
    return key === undefined ? at : (this.#keysOf(list) ?? []).indexOf(key);
  }

  #keysOf(list: readonly Json[]): readonly string[] | undefined {
    const place = this.steps.map((step) => (typeof step === "string" ? step : "[]"));
    const rule = listRule(this.identity, place);
    const found = rule && keyed(rule, list);
    return found && [...found.keys()];
  }
}
