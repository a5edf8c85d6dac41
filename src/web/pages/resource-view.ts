import type { BothSides, ResourceChange } from "../../core/model/manifest-diff.js";
import { colourDiff, colourYaml, type DiffLine } from "./colour-diff.js";

/** What the page shows of one changed object. */
export interface ResourceView {
  readonly action: ResourceChange["action"];
  readonly title: string;
  readonly hook: boolean;
  /** The cluster already differs by this from the target branch. */
  readonly drift: boolean;
  readonly lines: readonly DiffLine[];
  /** Expanded when the page opens. */
  readonly open: boolean;
  /** The object whole, where the diff leaves something out. */
  readonly sides: readonly SideView[];
}

export interface SideView {
  readonly name: "before" | "after";
  readonly lines: readonly DiffLine[];
}

/** Resources are expanded until this many lines are visible on the page. */
const MOST_OPEN_LINES = 400;

/** Lines that may still be open. */
export interface Room {
  left: number;
}

export function newRoom(): Room {
  return { left: MOST_OPEN_LINES };
}

/** Takes the lines that it shows open from the room. */
export function resourceView({ action, title, hook, diff, sides }: ResourceChange, room: Room): ResourceView {
  const lines = colourDiff(diff);
  const open = lines.length <= room.left;
  if (open) room.left -= lines.length;
  return { action, title, hook, drift: false, lines, open, sides: sides === undefined ? [] : sidesOf(sides) };
}

function sidesOf({ before, after }: BothSides): readonly SideView[] {
  const views = [
    { name: "before" as const, text: before },
    { name: "after" as const, text: after },
  ];
  return views.filter(({ text }) => text !== "").map(({ name, text }) => ({ name, lines: colourYaml(text) }));
}
