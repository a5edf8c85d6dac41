import { stringify } from "yaml";
import type { ArgoCd } from "../sandbox/argocd/argocd.js";
import { isObject, listAt, objectAt, stringAt, type Json } from "../sandbox/argocd/json.js";
import { textOfKey, type Manifest } from "../sandbox/argocd/manifest.js";
import { lastAppliedAnnotation } from "../sandbox/argocd/masking.js";
import { trackedBy } from "../sandbox/argocd/tracking.js";
import type { LiveObject } from "../sandbox/cluster/cluster.js";

/** A value of a live object that is worth showing, with its value before the object's last change. */
export interface SeenFact {
  readonly name: string;
  readonly value: string;
  /** Absent if the last change left it alone, null if the value is new. */
  readonly was?: string | null;
}

export interface SeenObject {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  /** How often it changed since the demo started. */
  readonly changes: number;
  readonly facts: readonly SeenFact[];
  /** The object without what the API server and Argo CD add. */
  readonly yaml: string;
}

interface Watched {
  readonly values: ReadonlyMap<string, string>;
  readonly was: ReadonlyMap<string, string | null>;
  readonly changes: number;
}

/** Records changes in the cluster, so that the page can show old and new values. */
export class ClusterWatch {
  readonly #argocd: ArgoCd;
  readonly #watched = new Map<string, Watched>();
  readonly #end: () => void;

  /** Existing objects count as unchanged. */
  constructor(argocd: ArgoCd) {
    this.#argocd = argocd;
    for (const live of argocd.live()) {
      this.#watched.set(textOfKey(live), { values: factsOf(live.object), was: new Map(), changes: 0 });
    }
    this.#end = argocd.subscribe(() => this.#look());
  }

  stop(): void {
    this.#end();
  }

  /** The live objects that belong to an application. */
  objects(application: string): readonly SeenObject[] {
    return this.#argocd.live().flatMap((live) => {
      const owner = trackedBy(live.object, live, { method: "annotation", labelKey: "" });
      return owner === application ? [this.#seen(live)] : [];
    });
  }

  #seen(live: LiveObject): SeenObject {
    const id = textOfKey(live);
    const { was, changes } = this.#watched.get(id) ?? { was: new Map<string, string | null>(), changes: 0 };
    const facts = [...factsOf(live.object)].map(([name, value]) => {
      const before = was.get(name);
      return before === undefined ? { name, value } : { name, value, was: before };
    });
    return { id, kind: live.kind, name: live.name, changes, facts, yaml: readable(live.object) };
  }

  #look(): void {
    for (const live of this.#argocd.live()) {
      const id = textOfKey(live);
      const values = factsOf(live.object);
      const before = this.#watched.get(id);
      const changed = [...values].filter(([name, value]) => before?.values.get(name) !== value);
      const gone = [...(before?.values.keys() ?? [])].some((name) => !values.has(name));
      if (before !== undefined && changed.length === 0 && !gone) continue;
      const was = new Map(changed.map(([name]) => [name, before?.values.get(name) ?? null]));
      this.#watched.set(id, { values, was, changes: (before?.changes ?? 0) + 1 });
    }
  }
}

/** The values that people look at first; the YAML has the rest. */
function factsOf(object: Manifest): ReadonlyMap<string, string> {
  const spec = objectAt(object, "spec");
  const containers = listAt(spec, "template", "spec", "containers");
  const ports = listAt(spec, "ports").map((port) => (isObject(port) ? textOf(port.port) : ""));
  return new Map([
    ...(spec.replicas === undefined ? [] : [["replicas", textOf(spec.replicas)] as const]),
    ...containers.map((container) => ["image", stringAt(container, "image") ?? ""] as const),
    ...(ports.length === 0 ? [] : [["port", ports.join(", ")] as const]),
    ...Object.entries(objectAt(object, "data")).map(([key, value]) => [key, textOf(value)] as const),
  ]);
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

function readable(object: Manifest): string {
  const metadata = objectAt(object, "metadata");
  const annotations = Object.entries(objectAt(metadata, "annotations")).filter(
    ([name]) => name !== lastAppliedAnnotation && !name.startsWith("argocd.argoproj.io/"),
  );
  const kept = ["name", "namespace", "labels"].filter((name) => metadata[name] !== undefined);
  return stringify({
    ...object,
    metadata: {
      ...Object.fromEntries(kept.map((name) => [name, metadata[name]])),
      ...(annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
    },
  });
}
