import { stringify } from "yaml";
import { canonicalJson, isJsonObject, isList, type Json, type JsonObject } from "../model/json.js";
import { type EmbeddedTexts, isObjectCopy } from "./hide-in-text.js";

/** One object before and after. */
interface Sides {
  readonly base: JsonObject | undefined;
  readonly head: JsonObject | undefined;
}

/**
 * Where an object has values of Secrets: it is one itself whatever its own kind says, it may carry some anywhere, or its
 * members are known, and the cluster would drop any other, so that only its texts may.
 */
type Holding = "itself" | "anywhere" | "texts";

/**
 * Replaces the values of every Secret inside an object on both sides by marks: of the object itself if it is one, and of
 * those that a carrier holds (lists, templates, a ManifestWork, texts with documents in them). Annotations with copies of
 * objects are left out. Marks differ only where both values are known and differ. Argo CD masks every value with the same
 * plus signs, so equal masks prove nothing.
 */
export function hideValues({ base, head }: Sides, holding: Holding, texts: EmbeddedTexts): Hidden {
  const [before, after] = [valuesOf(base, holding, texts), valuesOf(head, holding, texts)];
  const hidden = (object: JsonObject, others: ReadonlyMap<string, Json>, side: "before" | "after") =>
    new Walk(texts, (place, value) => mark(value, others.get(place), side)).whole(object, holding);
  return {
    base: base && before.found ? hidden(base, after.values, "before") : base,
    head: head && after.found ? hidden(head, before.values, "after") : head,
    leavesOut:
      head !== undefined &&
      [...before.copies, ...after.copies].some(([place]) => before.copies.get(place) !== after.copies.get(place)),
  };
}

interface Hidden extends Sides {
  /** An annotation is left out that the head adds, changes or removes. */
  readonly leavesOut: boolean;
}

/** An object with a mask like Argo CD's in place of each value of a Secret in it. */
export function maskValues(object: JsonObject, holding: Holding, texts: EmbeddedTexts): JsonObject {
  const mask = () => "++++++++";
  return new Walk(texts, mask, mask).whole(object, holding);
}

interface Values {
  readonly values: ReadonlyMap<string, Json>;
  /** Annotations with copies of objects, by place. */
  readonly copies: ReadonlyMap<string, string>;
  /** Whether anything of the object must be hidden; most objects are left as they are. */
  readonly found: boolean;
}

function valuesOf(object: JsonObject | undefined, holding: Holding, texts: EmbeddedTexts): Values {
  const values = new Map<string, Json>();
  const copies = new Map<string, string>();
  if (object === undefined) return { values, copies, found: false };
  const walk = new Walk(
    texts,
    (place, value) => {
      values.set(place, value);
      return "";
    },
    (place, value) => {
      copies.set(place, canonicalJson(value));
      return undefined;
    },
  );
  walk.whole(object, holding);
  return { values, copies, found: walk.found };
}

function mark(value: Json, other: Json | undefined, side: "before" | "after"): string {
  if (other === undefined) return "(hidden)";
  if (isMasked(value) || isMasked(other)) return "(hidden, cannot tell whether it changes)";
  if (canonicalJson(value) === canonicalJson(other)) return "(hidden, unchanged)";
  return `(hidden, ${side} the change)`;
}

/** Argo CD replaces each value by at least eight plus signs. */
export function isMasked(value: Json): boolean {
  return typeof value === "string" && /^\+{8,}$/.test(value);
}

/** Every value of a Secret in these objects, also of those in carriers. */
export function secretValues(objects: readonly JsonObject[], texts: EmbeddedTexts): readonly Json[] {
  const values: Json[] = [];
  const walk = new Walk(texts, (_, value) => {
    values.push(value);
    return "";
  });
  for (const object of objects) walk.whole(object, "anywhere");
  return values;
}

const DATA = new Set(["data", "stringData", "binaryData"]);
/** The deepest nesting of documents in texts in documents that is read. */
const MAX_TEXTS = 4;

/** What of an object holds values of Secrets although the object is none. */
interface Inside {
  /** Maps named like data make up a Secret here. */
  readonly makesSecret: boolean;
  /** Documents around this value. */
  readonly texts: number;
  /** No object in here is a Secret, whatever it says of itself. */
  readonly known: boolean;
}

/** Replaces each value of a Secret by what `replace` returns for it. Its place is the same on both sides. */
class Walk {
  #replaced = 0;
  #met = 0;
  readonly #named = new Map<string, number>();

  constructor(
    private readonly texts: EmbeddedTexts,
    private readonly replace: (place: string, value: Json) => string,
    /** Gives the text that replaces an annotation with a copy of an object; undefined leaves the annotation out. */
    private readonly replaceCopy: (place: string, value: Json) => string | undefined = () => undefined,
  ) {}

  /** Whether something was replaced or left out. */
  get found(): boolean {
    return this.#replaced > 0;
  }

  whole(object: JsonObject, holding: Holding): JsonObject {
    const inside = { makesSecret: false, texts: 0, known: holding === "texts" };
    return holding === "itself" ? this.#secret(object, "", inside) : this.#object(object, "", inside);
  }

  #value(value: Json, at: string, inside: Inside): Json {
    if (typeof value === "string") return this.#text(value, at, inside);
    if (isList(value)) return value.map((item, index) => this.#value(item, `${at}/${index}`, inside));
    return isJsonObject(value) ? this.#object(value, at, inside) : value;
  }

  #object(object: JsonObject, at: string, outside: Inside): JsonObject {
    if (outside.known) {
      const within = (name: string) => (TAKES_OBJECTS.has(name) ? { ...outside, known: false } : outside);
      return this.#members(object, at, outside, (name, member) => this.#value(member, `${at}/${name}`, within(name)));
    }
    if (isSecretKind(object.kind) && !holdsContainers(object)) return this.#secret(object, at, outside);
    const inside = { ...outside, makesSecret: outside.makesSecret || makesSecret(object) };
    // A patch of a Secret, as Kustomize takes it.
    const patches = isJsonObject(object.target) && isSecretKind(object.target.kind) && !holdsContainers(object);
    return this.#members(object, at, inside, (name, member) => {
      if (patches && name !== "target" && name !== "options") return this.#hidden(member, `${at}/${name}`);
      if (name === "stringData" || (inside.makesSecret && DATA.has(name))) {
        if (isJsonObject(member) || typeof member === "string") return this.#hidden(member, `${at}/${name}`);
      }
      // Values of an ExternalSecret's template, of a store with made-up values, and of a Template's parameters.
      if (inside.makesSecret && /^(?:literal|value|valueMap)$/.test(name)) return this.#hidden(member, `${at}/${name}`);
      const known = (OF_PODS.has(name) && isList(object.containers)) || areContainers(name, member);
      if (known) return this.#value(member, `${at}/${name}`, { ...inside, known });
      const below = name === "parameters" && isTemplateOfSecrets(object) ? { ...inside, makesSecret: true } : inside;
      const sealed = name === "template" && typeof object.encryptedData === "object";
      return this.#value(member, `${at}/${name}`, sealed ? { ...inside, makesSecret: true } : below);
    });
  }

  #secret(secret: JsonObject, at: string, inside: Inside): JsonObject {
    this.#met += 1;
    const place = this.#placeOf(secret, at);
    return this.#members(secret, at, inside, (name, member) => {
      if (name === "metadata" && isJsonObject(member)) {
        return this.#members(member, `${at}/${name}`, inside, (own, one) => {
          const openly = OPEN_METADATA.has(own);
          return openly
            ? this.#value(one, `${at}/${name}/${own}`, inside)
            : this.#hidden(one, `${place}/${name}/${own}`);
        });
      }
      if (name === "items" && isList(member)) {
        return member.map((item, index) =>
          isJsonObject(item) ? this.#secret(item, `${at}/${index}`, inside) : this.#hidden(item, `${at}/${index}`),
        );
      }
      return isOpenMember(name, member) ? member : this.#hidden(member, `${place}/${name}`);
    });
  }

  #members(object: JsonObject, at: string, inside: Inside, change: (name: string, member: Json) => Json): JsonObject {
    const members: (readonly [string, Json])[] = [];
    for (const [name, member] of Object.entries(object)) {
      if (member === undefined) continue;
      const annotations = name === "annotations" && isJsonObject(member);
      const kept = annotations ? this.#annotations(member, `${at}/${name}`, inside) : change(name, member);
      if (kept !== undefined) members.push([this.#name(name), kept]);
    }
    return Object.fromEntries(members);
  }

  /** A member's name may itself contain a document. */
  #name(name: string): string {
    if (this.texts.read(name).kind === "text") return name;
    this.#replaced += 1;
    return `(hidden name ${this.#replaced})`;
  }

  #annotations(annotations: JsonObject, at: string, inside: Inside): JsonObject | undefined {
    const entries = Object.entries(annotations);
    const kept = entries.flatMap(([name, value]) => {
      const place = `${at}/${name}`;
      if (value === undefined) return [];
      if (!isObjectCopy(name, value)) return [[name, this.#value(value, place, inside)] as const];
      this.#replaced += 1;
      const instead = this.replaceCopy(place, value);
      return typeof instead === "string" ? [[name, instead] as const] : [];
    });
    return kept.length === 0 && entries.length > 0 ? undefined : Object.fromEntries(kept);
  }

  /** A Secret is compared with the one of the same name, wherever the carrier has put it. */
  #placeOf({ metadata }: JsonObject, at: string): string {
    if (at === "" || !isJsonObject(metadata) || typeof metadata.name !== "string") return at;
    const name = JSON.stringify([metadata.namespace ?? "", metadata.name]);
    const count = this.#named.get(name) ?? 0;
    this.#named.set(name, count + 1);
    return `${name} ${count}`;
  }

  #hidden(value: Json, place: string): Json {
    if (!isJsonObject(value)) return this.#mark(place, value);
    let odd = 0;
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, one]) => {
        if (one === undefined) return [];
        return [[isDataKey(key) ? key : `(hidden key ${++odd})`, this.#mark(`${place}/${key}`, one)] as const];
      }),
    );
  }

  #mark(place: string, value: Json): string {
    this.#replaced += 1;
    return this.replace(place, value);
  }

  /** A text with documents is written anew where values of a Secret are replaced in it. */
  #text(text: string, at: string, inside: Inside): Json {
    const embedded = this.texts.read(text);
    switch (embedded.kind) {
      case "text":
        return text;
      case "opaque":
        return this.#mark(at, text);
      case "documents": {
        if (inside.texts >= MAX_TEXTS) return this.#mark(at, text);
        const [replaced, met] = [this.#replaced, this.#met];
        const deeper = { makesSecret: false, texts: inside.texts + 1, known: false };
        const hidden = embedded.documents.map((one, index) => {
          const place = `${at} ${index}`;
          return typeof one === "string" && one === text ? one : this.#value(one, place, deeper);
        });
        if (embedded.named && this.#met === met) return this.#mark(at, text);
        // JSON with equal keys may say more than the last of them, which is all that its parser gives.
        if (this.#replaced === replaced) {
          if (this.#met === met || !BEGINS_JSON.test(text)) return text;
          this.#replaced += 1;
        }
        return hidden.map((one) => stringify(one, { lineWidth: 0, aliasDuplicateObjects: false })).join("---\n");
      }
    }
  }
}

/** In any of its documents. */
const BEGINS_JSON = /^(?:---)?[^\S\r\n\u2028\u2029]*[{[]/m;

/** Members of Argo CD's own kinds that any object may stand in. */
const TAKES_OBJECTS = new Set(["valuesObject", "patches", "elements", "input"]);

/** Members beside the containers of a Pod. A custom kind with such containers may have others that carry Secrets. */
const OF_PODS = new Set(["containers", "initContainers", "ephemeralContainers", "volumes", "securityContext"]);
/** Where Argo Workflows and Tekton have containers. */
const CONTAINERS = new Set(["container", "script", "sidecars", "stepTemplate", "steps"]);

function areContainers(name: string, value: Json): boolean {
  const runs = (one: Json) => isJsonObject(one) && typeof one.image === "string";
  return CONTAINERS.has(name) && (isList(value) ? value.some(runs) : runs(value));
}

/** Whether a value has containers that run, which no Secret has: anybody can write `kind: Secret` where unknown members are dropped. */
function holdsContainers(value: Json): boolean {
  if (isList(value)) return value.some(holdsContainers);
  if (!isJsonObject(value)) return false;
  if (isList(value.containers)) return true;
  return Object.entries(value).some(([name, one = null]) => areContainers(name, one) || holdsContainers(one));
}

/** OpenShift's Template fills its parameters into its objects. */
function isTemplateOfSecrets({ objects }: JsonObject): boolean {
  return isList(objects) && objects.some((one) => isJsonObject(one) && isSecretKind(one.kind));
}

/** Whether Argo CD masks the values of this object: only of Kubernetes' own Secrets. */
export function isSecret({ group, kind }: { readonly group: string; readonly kind: string }): boolean {
  return group === "" && kind === "Secret";
}

/** Whether a `kind` names a Secret, of whatever group: a list of them too, and spellings that only some tools accept. */
export function isSecretKind(kind: Json | undefined): boolean {
  return typeof kind === "string" && /^\s*secret(?:list)?\s*$/i.test(kind);
}

/**
 * Whether an object with maps like `data` makes up a Secret although its kind is another one or absent: the template of
 * an ExternalSecret, a ClusterSecret, an object with the type of a Secret.
 */
function makesSecret({ kind, type }: JsonObject): boolean {
  if (typeof kind === "string" && /secret/i.test(kind) && !/^sealed/i.test(kind)) return true;
  return typeof type === "string" && SECRET_TYPE.test(type);
}

/** The types of Kubernetes itself (https://kubernetes.io/docs/concepts/configuration/secret/#secret-types), and Helm's. */
const SECRET_TYPE = /^(?:Opaque|(?:kubernetes\.io|bootstrap\.kubernetes\.io|helm\.sh)\/.*)$/;

/** Members of a Secret that hold no values, and those of a reference to one (`valuesFrom: [{kind: Secret, name: db}]`). */
const OPEN_MEMBERS = new Set([
  ...["apiVersion", "kind", "type", "immutable"],
  ...["name", "namespace", "apiGroup", "group", "version", "key", "valuesKey", "targetPath", "optional", "fieldPath"],
  ...["uid", "resourceVersion", "controller", "blockOwnerDeletion"],
]);
/** What `ignoreDifferences` says of Secrets. */
const OPEN_LISTS = new Set(["jsonPointers", "jqPathExpressions", "managedFieldsManagers"]);

/** Whether a member of an object of the kind Secret is shown as it is. */
function isOpenMember(name: string, value: Json): boolean {
  if (isList(value)) return OPEN_LISTS.has(name) && value.every((item) => typeof item === "string");
  return OPEN_MEMBERS.has(name) && !isJsonObject(value);
}

const OPEN_METADATA = new Set([
  ...["name", "namespace", "generateName", "labels", "annotations", "finalizers", "ownerReferences"],
  ...["creationTimestamp", "deletionTimestamp", "generation", "resourceVersion", "uid", "managedFields", "selfLink"],
]);

/** Kubernetes accepts no other names. Anything else in their place may be the value. */
export function isDataKey(name: string): boolean {
  return /^[-._a-zA-Z0-9]{1,253}$/.test(name);
}
