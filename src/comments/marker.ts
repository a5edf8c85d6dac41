import { SERVICE } from "../names.js";

/** What a comment of ours is, hidden in its first line. It finds comments again; trust comes from the author alone. */
export interface Marker {
  readonly kind: "plan" | "no-applications" | "progress" | "result" | "refused" | "merge";
  /** Head commit that the comment speaks of. */
  readonly head?: string;
  /** 1-based number of an answer's part. */
  readonly part?: number;
  /** The plan was replaced by a newer one. */
  readonly stale?: boolean;
  /** The login whose command was refused. */
  readonly login?: string;
  /** The run that wrote it: with kind and part it tells whether a comment was posted. */
  readonly run?: string;
}

const PATTERN = new RegExp(`^<!-- ${SERVICE}:([a-z-]+)((?: [a-z]+=[^\\s>]*)*) -->`);
const MARKER_END = "-->";
const KINDS: readonly Marker["kind"][] = ["plan", "no-applications", "progress", "result", "refused", "merge"];

/** The marker as the first line of a comment. */
export function markerLine(marker: Marker): string {
  const fields = [
    marker.head === undefined ? "" : ` head=${encodeURIComponent(marker.head)}`,
    marker.part === undefined ? "" : ` part=${marker.part}`,
    marker.stale === true ? " stale=true" : "",
    marker.login === undefined ? "" : ` login=${encodeURIComponent(marker.login.replace(/\p{Cs}/gu, ""))}`,
    marker.run === undefined ? "" : ` run=${encodeURIComponent(marker.run)}`,
  ];
  return `<!-- ${SERVICE}:${marker.kind}${fields.join("")} -->`;
}

/** The marker of one of our comments; undefined when it has none. */
export function readMarker(body: string): Marker | undefined {
  const match = PATTERN.exec(body);
  const kind = KINDS.find((known) => known === match?.[1]);
  if (match === null || kind === undefined) return undefined;
  const fields = new Map(
    (match[2] ?? "")
      .trim()
      .split(" ")
      .map((field) => splitField(field)),
  );
  const part = fields.get("part");
  return {
    kind,
    head: fields.get("head"),
    part: part === undefined ? undefined : Number(part),
    stale: fields.get("stale") === "true",
    login: fields.get("login"),
    run: fields.get("run"),
  };
}

/** The same comment with these fields of its marker set anew; one without a marker stays as it is. */
export function remark(body: string, fields: Partial<Marker>): string {
  const marker = readMarker(body);
  return marker === undefined
    ? body
    : markerLine({ ...marker, ...fields }) + body.slice(body.indexOf(MARKER_END) + MARKER_END.length);
}

function splitField(field: string): readonly [string, string] {
  const at = field.indexOf("=");
  return [field.slice(0, at), decodeSafely(field.slice(at + 1))];
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
