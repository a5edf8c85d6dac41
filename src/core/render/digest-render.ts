import { renderDigestTask } from "../diff/render-digest.js";
import { destinationOf } from "../model/application.js";
import { changeRequestKey } from "../model/change-request.js";
import type { RenderDigest } from "../model/plan.js";
import type { LiveSubject } from "../model/subject.js";
import { computeIfLarge, tooMuch } from "../ports/compute.js";
import type { CommandContext } from "../ports/context.js";
import type { RenderedManifests } from "../ports/render-cache.js";

export type DigestSource = Pick<CommandContext, "change" | "compute" | "signal">;

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
