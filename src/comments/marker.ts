import { SERVICE } from "../names.js";

/** What a comment of ours is, hidden in its first line. It finds comments again; trust comes from the author alone. */
export interface Marker {
  readonly kind: "plan" | "no-applications" | "result" | "refused";
  /** Head commit that the comment speaks of. */
  readonly head?: string;
  /** 1-based number of a plan's part. */
  readonly part?: number;
  /** The plan was replaced by a newer one. */
  readonly stale?: boolean;
  /** The login whose command was refused. */
  readonly login?: string;
}

const PATTERN = new RegExp(`^<!-- ${SERVICE}:([a-z-]+)((?: [a-z]+=[^\\s>]*)*) -->`);
const KINDS: readonly Marker["kind"][] = ["plan", "no-applications", "result", "refused"];

/** The marker as the first line of a comment. */
export function markerLine(marker: Marker): string {
  const fields = [
    marker.head === undefined ? "" : ` head=${encodeURIComponent(marker.head)}`,
    marker.part === undefined ? "" : ` part=${marker.part}`,
    marker.stale === true ? " stale=true" : "",
    marker.login === undefined ? "" : ` login=${encodeURIComponent(marker.login)}`,
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
  };
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
