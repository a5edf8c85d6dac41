import { createHash } from "node:crypto";
import { percentDecoded } from "../core/detect/tree/repository-url.js";
import { SERVICE } from "../names.js";

/** Identifies our comments, hidden in their first line. Only the author of a comment proves that it is ours. */
export interface Marker {
  readonly kind: "plan" | "no-applications" | "progress" | "result" | "refused" | "merge" | "reminder" | "rollout";
  readonly head?: string;
  /** A digest of the base branch that a plan is for, since a branch may have a very long name. Older versions left it out. */
  readonly base?: string;
  /** 1-based number of the part of an answer. */
  readonly part?: number;
  /** A newer plan or reminder replaced this one. */
  readonly stale?: boolean;
  readonly automatic?: boolean;
  /** The plan was posted before Kubernetes had answered. */
  readonly asking?: boolean;
  /** The person without write access whom it answers. */
  readonly login?: string;
  /** Says that commands are written without a sign before the command word. */
  readonly form?: boolean;
  /** The run that wrote the comment. Kind, run and part together identify it. */
  readonly runId?: string;
}

const PATTERN = new RegExp(`^<!-- ${SERVICE}:([a-z-]+)((?: [a-z]+=[^\\s>]*)*) -->`);
const MARKER_END = "-->";
const KINDS: readonly Marker["kind"][] = [
  "plan",
  "no-applications",
  "progress",
  "result",
  "refused",
  "merge",
  "reminder",
  "rollout",
];

export function markerLine(marker: Marker): string {
  const fields = [
    marker.head === undefined ? "" : ` head=${encodeURIComponent(marker.head)}`,
    marker.base === undefined ? "" : ` base=${encodeURIComponent(marker.base)}`,
    marker.part === undefined ? "" : ` part=${marker.part}`,
    marker.stale === true ? " stale=true" : "",
    marker.automatic === true ? " automatic=true" : "",
    marker.asking === true ? " asking=true" : "",
    marker.form === true ? " form=true" : "",
    marker.login === undefined ? "" : ` login=${encodeURIComponent(marker.login.replace(/\p{Cs}/gu, ""))}`,
    marker.runId === undefined ? "" : ` run=${encodeURIComponent(marker.runId)}`,
  ];
  return `<!-- ${SERVICE}:${marker.kind}${fields.join("")} -->`;
}

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
    base: fields.get("base"),
    part: part === undefined ? undefined : Number(part),
    stale: fields.get("stale") === "true",
    automatic: fields.get("automatic") === "true",
    ...(fields.get("asking") === "true" && { asking: true }),
    form: fields.get("form") === "true",
    login: fields.get("login"),
    runId: fields.get("run"),
  };
}

/** What a plan is for, as its marker says it. */
export function targetOf(head: string, baseBranch: string): Pick<Marker, "head" | "base"> {
  return { head, base: createHash("sha256").update(baseBranch).digest("hex").slice(0, 32) };
}

/** Whether two plans are for the same head and, as far as both say it, for the same base branch. */
export function haveSameTarget(left: Pick<Marker, "head" | "base">, right: Pick<Marker, "head" | "base">): boolean {
  return left.head === right.head && (left.base ?? right.base) === (right.base ?? left.base);
}

/** The comment with these fields of its marker replaced; unchanged if it has no marker. */
export function remark(body: string, fields: Partial<Marker>): string {
  const marker = readMarker(body);
  return marker === undefined
    ? body
    : markerLine({ ...marker, ...fields }) + body.slice(body.indexOf(MARKER_END) + MARKER_END.length);
}

function splitField(field: string): readonly [string, string] {
  const at = field.indexOf("=");
  const value = field.slice(at + 1);
  return [field.slice(0, at), percentDecoded(value) ?? value];
}
