import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { CodeHost } from "../core/ports/code-host.js";
import { warning } from "./markdown.js";
import { readMarker } from "./marker.js";
import { markStale } from "./publish.js";

const START = "⚠️ **The base branch moved.**";

/** Writes under the heading of the current plan what a push to the base branch did to it; `sentences` may be empty. */
export async function markMoved(
  host: Pick<CodeHost, "listOwnComments" | "editComment">,
  change: ChangeRequestRef,
  sentences: readonly string[],
): Promise<void> {
  const own = await host.listOwnComments(change);
  const plan = own.findLast(({ body }) => markStale(body) !== undefined && (readMarker(body)?.part ?? 1) === 1);
  if (plan === undefined) return;
  const body = withNotice(plan.body, sentences);
  if (body !== plan.body) await host.editComment(change, plan.id, body);
}

/** The notice is a paragraph of its own, right after the marker and the heading. */
function withNotice(body: string, sentences: readonly string[]): string {
  const [head = "", ...paragraphs] = body.split("\n\n");
  const rest = paragraphs[0]?.startsWith(START) === true ? paragraphs.slice(1) : paragraphs;
  const notice = sentences.length === 0 ? [] : [[START, ...sentences.map(warning)].join("\n")];
  return [head, ...notice, ...rest].join("\n\n");
}
