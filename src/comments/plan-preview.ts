import type { HostWords } from "../core/model/host-words.js";
import type { ManifestDiff } from "../core/model/manifest-diff.js";
import type { PreviewContent, PreviewOrigin } from "../core/model/preview.js";
import { code, details, fence, shortened } from "./markdown.js";
import type { Block } from "./parts.js";
import { counted } from "./phrases.js";
import { checkBlocks } from "./plan-checks.js";
import { diffBlocks, type DiffRoom } from "./plan-diff.js";
import { cautionList, childrenLine, secretLines } from "./plan-summary.js";

const MAX_REASON = 4000;
const MAX_TITLES = 2000;

/** What the merge makes of the objects of an application that is added, changed or removed. */
export function previewBlocks(
  content: PreviewContent,
  change: PreviewOrigin["change"],
  room: DiffRoom,
  words: HostWords,
): readonly Block[] {
  return [...contentBlocks(content, change, room, words), ...checkBlocks(content.checks ?? [], room)];
}

function contentBlocks(
  content: PreviewContent,
  change: PreviewOrigin["change"],
  room: DiffRoom,
  words: HostWords,
): readonly Block[] {
  const text = (lines: readonly string[]): Block => ({ text: lines.join("\n\n"), section: room.section });
  switch (content.kind) {
    case "compared": {
      const { diff } = content;
      const lines = [
        ...countLines(diff, change),
        ...cautionList(diff.cautions),
        ...childrenLine("Applications", diff.children),
        ...childrenLine("ApplicationSets", diff.sets),
      ];
      const secrets = change === "changed" ? secretLines(diff) : [];
      // Everything goes; what is dangerous about it stands above.
      const folded = change === "removed" ? { ...room, open: false } : room;
      return [
        text(lines),
        ...diffBlocks(diff.resources, folded, "change"),
        ...(secrets.length === 0 ? [] : [text(secrets)]),
      ];
    }
    case "left-behind": {
      const { length } = content.objects;
      if (length === 0) return [text(["It has no resources in the cluster."])];
      const list = fence(shortened(content.objects.join("\n"), Math.min(room.names, MAX_TITLES)));
      const what = `**Leaves behind:** ${counted(length, "resource")} in the cluster, unmanaged: the application has no finalizer ${code("resources-finalizer.argocd.argoproj.io")}, with which Argo CD would delete them`;
      return [text([what, details(`What stays (${counted(length, "resource")})`, list)])];
    }
    case "failed": {
      const next = content.withheld === true ? [afterApproval(words)] : [];
      return [text([`${RESOURCES} could not be previewed`, fence(shortened(content.reason, MAX_REASON)), ...next])];
    }
    case "beyond-limit": {
      const most = `a plan previews at most ${counted(content.limit, "application")} (${code("deployer.preview_limit")})`;
      return [text([`${RESOURCES} not previewed: ${most}`])];
    }
  }
}

const RESOURCES = "**Resources:**";
const UNCHANGED = "No changes: both definitions render the same.";
const HIDDEN = "No visible changes.";

function afterApproval({ command }: HostWords): string {
  return `An approval of this commit plans it again; on drafts and forks, comment ${code(`${command} plan`)} then.`;
}

function countLines(diff: ManifestDiff, change: PreviewOrigin["change"]): readonly string[] {
  const { created, updated, deleted, hooksChanged } = diff;
  const hooks = hooksChanged === 0 ? [] : [`**Hooks:** ${hooksChanged} changed`];
  switch (change) {
    case "added":
      return [`**Creates:** ${counted(created, "resource")}`, ...hooks];
    case "changed":
      if (diff.resources.length === 0) return [diff.hiddenSecrets ? HIDDEN : UNCHANGED];
      return [
        `**Changes:** ${created} to create, ${updated} to update`,
        ...(deleted === 0 ? [] : [`**Deletes:** ${deleted} to delete, if it prunes`]),
        ...hooks,
      ];
    case "removed":
      return [`**Deletes:** ${counted(deleted, "resource")} with the application`];
  }
}
