import type { ResourceChange } from "../core/plan.js";
import { details, diffFence, fence, shortened } from "./markdown.js";
import { pack } from "./parts.js";

/** Resource diffs in collapsibles that each fit a comment; beyond the budget of the whole plan only their names. */
export function diffBlocks(
  resources: readonly ResourceChange[],
  limit: number,
  budget: { left: number },
): readonly string[] {
  if (resources.length === 0) return [];
  const room = limit - 300;
  const shown: string[] = [];
  const left: string[] = [];
  for (const resource of resources) {
    const text = resourceText(resource, room);
    if (text.length > budget.left) left.push(resource.title);
    else {
      budget.left -= text.length;
      shown.push(text);
    }
  }
  const groups = grouped(shown, room);
  const summary = `Diff (${resources.length} resources changed)`;
  const blocks = groups.map((group, index) =>
    details(groups.length === 1 ? summary : `${summary}, ${index + 1} of ${groups.length}`, diffFence(group)),
  );
  if (left.length === 0) return blocks;
  const names = shortened(left.join("\n"), Math.min(room, 8000));
  return [...blocks, `${left.length} more changed resources are too long to show here:\n\n${fence(names)}`];
}

function resourceText(resource: ResourceChange, room: number): string {
  const title = `# ${resource.action}${resource.hook ? " (hook)" : ""}: ${resource.title}`;
  const lines = resource.diff.trimEnd().split("\n");
  const kept: string[] = [];
  let length = title.length + 100;
  for (const line of lines) {
    length += Math.min(line.length, MAX_LINE) + 1;
    if (length > room) break;
    kept.push(shortened(line, MAX_LINE));
  }
  const cut = lines.length - kept.length;
  return [title, ...kept, ...(cut > 0 ? [`# … ${cut} more lines are not shown`] : [])].join("\n");
}

/** A longer line is data, not something that people read in a diff. */
const MAX_LINE = 2000;

function grouped(texts: readonly string[], room: number): readonly string[] {
  return pack(
    texts.map((text) => ({ text, section: undefined })),
    room,
  );
}
