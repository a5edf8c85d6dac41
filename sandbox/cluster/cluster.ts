import { randomUUID } from "node:crypto";
import { objectAt, same, sortedText, stringAt, type JsonObject } from "../argocd/json.js";
import { textOfKey, withAnnotation, withNamespace, type Manifest, type ObjectKey } from "../argocd/manifest.js";
import { lastAppliedAnnotation, withEncodedData } from "../argocd/masking.js";
import { refusalOf, type AdmissionRule } from "./admission.js";
import { storedForm } from "./stored-form.js";
import { threeWayMerge } from "./three-way-merge.js";

export interface LiveObject extends ObjectKey {
  readonly object: Manifest;
}

export type Applied = "created" | "configured" | "unchanged";

/** A cluster's objects in memory, as `kubectl apply` leaves them. Every namespace exists until it is removed. */
export class Cluster {
  readonly #objects = new Map<string, LiveObject>();
  #sorted: readonly LiveObject[] | undefined;
  readonly #missingNamespaces = new Set<string>();
  /** Beside those of Kubernetes itself. */
  readonly rules: AdmissionRule[] = [];
  /** Objects get defaults and canonical quantities, as in the API server. */
  storesDefaults = false;
  readonly #listeners = new Set<() => void>();
  #version = 0;

  list(): readonly LiveObject[] {
    // Each comparison of an application asks for it.
    return (this.#sorted ??= [...this.#objects]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([, object]) => object));
  }

  get(key: ObjectKey): Manifest | undefined {
    return this.#objects.get(textOfKey(key))?.object;
  }

  /** The object after applying the manifest. */
  predict(manifest: Manifest, key: ObjectKey): Manifest {
    const target = withNamespace(withEncodedData(manifest), key.namespace);
    const live = this.get(key);
    return this.stored(live === undefined ? target : applied(target, live));
  }

  /** What is kept of an object. */
  stored(written: Manifest): Manifest {
    return this.storesDefaults ? storedForm(written) : written;
  }

  /** @throws {Error} with Kubernetes' words if the namespace does not exist. */
  apply(manifest: Manifest, key: ObjectKey, options: { readonly dryRun?: boolean } = {}): Applied {
    if (this.lacks(key.namespace)) throw new Error(`namespaces "${key.namespace}" not found`);
    const live = this.get(key);
    const predicted = this.predict(manifest, key);
    const outcome = live === undefined ? "created" : same(live, predicted) ? "unchanged" : "configured";
    // A live object never has `stringData`, so applying it always looks like a change.
    const told = outcome === "unchanged" && manifest.stringData !== undefined ? "configured" : outcome;
    if (options.dryRun === true || outcome === "unchanged") return told;
    const refusal = refusalOf(live, predicted, key, this.rules);
    if (refusal !== undefined) throw new Error(refusal);
    const note = `${sortedText(withNamespace(manifest, key.namespace))}\n`;
    this.put(key, withAnnotation(predicted, lastAppliedAnnotation, note));
    return outcome;
  }

  /** Writes an object as it is, like `kubectl replace`. */
  put(key: ObjectKey, object: Manifest): void {
    const live = this.get(key);
    this.#version += 1;
    const identity: JsonObject = {
      uid: stringAt(live, "metadata", "uid") ?? randomUUID(),
      creationTimestamp:
        stringAt(live, "metadata", "creationTimestamp") ?? new Date().toISOString().replace(/\.\d+Z$/, "Z"),
      resourceVersion: String(this.#version),
    };
    const metadata = { ...objectAt(object, "metadata"), ...identity };
    this.#objects.set(textOfKey(key), { ...key, object: { ...this.stored(object), metadata } });
    if (key.kind === "Namespace") this.createNamespace(key.name);
    this.#changed();
  }

  remove(key: ObjectKey): void {
    if (this.#objects.delete(textOfKey(key))) this.#changed();
  }

  /** Applying an object to the namespace fails until the namespace is created. */
  removeNamespace(name: string): void {
    this.#missingNamespaces.add(name);
  }

  lacks(namespace: string): boolean {
    return this.#missingNamespaces.has(namespace);
  }

  createNamespace(name: string): void {
    this.#missingNamespaces.delete(name);
  }

  subscribe(onChange: () => void): () => void {
    this.#listeners.add(onChange);
    return () => this.#listeners.delete(onChange);
  }

  #changed(): void {
    this.#sorted = undefined;
    for (const listener of this.#listeners) listener();
  }
}

/** The live object after an apply, without updating its last-applied annotation. */
export function applied(target: Manifest, live: Manifest): Manifest {
  const note = stringAt(live, "metadata", "annotations", lastAppliedAnnotation);
  return threeWayMerge(note === undefined ? {} : (JSON.parse(note) as Manifest), target, live);
}
