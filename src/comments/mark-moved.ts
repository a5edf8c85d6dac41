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

/** The notice is a paragraph of its own between the heading and the verdict, which it restricts. */
function withNotice(body: string, sentences: readonly string[]): string {
  const [marker = "", heading = "", ...lines] = body.split("\n");
  const rest = lines[0]?.startsWith(START) === true ? lines.slice(lines.indexOf("") + 1) : lines;
  const notice = sentences.length === 0 ? [] : [START, ...sentences.map(warning), ""];
  return [marker, heading, ...notice, ...rest].join("\n");
}
