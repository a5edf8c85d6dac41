import { details } from "./markdown.js";
import { markerLine, readMarker } from "./marker.js";

/** The body of an older plan comment after a newer plan: folded and marked; undefined when there is nothing to mark. */
export function markStale(body: string): string | undefined {
  const marker = readMarker(body);
  if (marker === undefined || marker.stale === true) return undefined;
  if (marker.kind !== "plan" && marker.kind !== "no-applications") return undefined;
  const content = body.slice(body.indexOf("-->") + 3).trim();
  const commit = marker.head === undefined ? "" : ` of commit ${marker.head.slice(0, 8)}`;
  return `${markerLine({ ...marker, stale: true })}\n${details(`Outdated plan${commit}: a newer one is below`, content)}`;
}
