import { createHash } from "node:crypto";
import { normalise } from "../diff/manifest-diff.js";
import { byIdentity, titleOf } from "../diff/manifest-key.js";
import { destinationOf, type Manifest } from "../model/application.js";
import type { Revision } from "../model/brand.js";
import { changeRequestKey } from "../model/change-request.js";
import { type JsonText, readJsonText } from "../model/json.js";
import type { RenderDigest } from "../model/plan/plan.js";
import type { LiveSubject } from "../model/subject.js";
import { computeIfLarge, type Task, tooMuch } from "../ports/compute.js";
import type { CommandContext } from "../ports/context.js";
import type { RenderedManifests } from "../ports/deployer.js";

type DigestSource = Pick<CommandContext, "change" | "compute" | "signal">;

/** Milliseconds for one application. */
const DEADLINE_MS = 60_000;

/** The digest of what the head of an application renders, or why there is none. */
export async function digestOfRender(
  { head }: LiveSubject,
  { manifests, renderedAt }: RenderedManifests,
  { change, compute, signal }: DigestSource,
): Promise<RenderDigest | string> {
  const input = { manifests, renderedAt, destinationNamespace: destinationOf(head.spec).namespace };
  const limits = { owner: changeRequestKey(change), deadlineMs: DEADLINE_MS, signal };
  const computed = await computeIfLarge(compute, renderDigestTask, input, manifests.length, limits);
  return computed.kind === "done" ? computed.output : `comparing its manifests ${tooMuch(computed.limit)}`;
}

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
