import { createHash } from "node:crypto";
import type { Manifest } from "../model/application.js";
import type { Revision } from "../model/brand.js";
import { type JsonText, readJsonText } from "../model/json.js";
import type { RenderDigest } from "../model/plan.js";
import type { Task } from "../ports/compute.js";
import { byIdentity, titleOf } from "./manifest-key.js";
import { normalise } from "./normalise.js";

interface DigestInput {
  readonly manifests: JsonText<readonly Manifest[]>;
  readonly renderedAt: Revision;
  readonly destinationNamespace: string;
}

/** More are compared, and not named. */
const MOST_OBJECTS = 1000;
/** A name for the object alone: `whole` decides. */
const OBJECT_DIGITS = 8;

/** Digests of normalised manifests, in any order. Argo CD has hidden the values of Secrets in them. */
export const renderDigestTask: Task<DigestInput, RenderDigest> = {
  name: "render-digest",
  run({ manifests, renderedAt, destinationNamespace }) {
    const found = [...byIdentity(readJsonText(manifests), destinationNamespace)].sort(([left], [right]) =>
      left < right ? -1 : 1,
    );
    const objects = found.map(([key, { identity, manifest }]) => ({
      title: titleOf(identity),
      digest: sha256(key + JSON.stringify(normalise(manifest, renderedAt))),
    }));
    return {
      whole: sha256(objects.map(({ digest }) => digest).join("\n")),
      objects: objects
        .slice(0, MOST_OBJECTS)
        .map(({ title, digest }) => ({ title, digest: digest.slice(0, OBJECT_DIGITS) })),
    };
  },
};

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The objects of which one digest has another, or that only one has. */
export function differingObjects(left: RenderDigest, right: RenderDigest): readonly string[] {
  const [before, after] = [left, right].map(({ objects }) => new Set(objects.map((one) => JSON.stringify(one))));
  const only = [
    ...right.objects.filter((one) => before?.has(JSON.stringify(one)) === false),
    ...left.objects.filter((one) => after?.has(JSON.stringify(one)) === false),
  ];
  return [...new Set(only.map(({ title }) => title))];
}
