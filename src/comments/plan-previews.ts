import { isFailed } from "../core/model/check.js";
import { groupedBy } from "../core/model/collections.js";
import { counted, type HostWords, listed } from "../core/model/host-words.js";
import type { ManifestDiff } from "../core/model/plan/manifest-diff.js";
import { type Preview, type PreviewContent, previewedDiff, type PreviewOrigin } from "../core/model/plan/plan.js";
import { type Block, block, code, details, fence, pack, shortened } from "./parts.js";
import {
  checkBlocks,
  consequenceLines,
  diffBlocks,
  diffKey,
  type DiffRoom,
  secretLines,
  stayLines,
} from "./plan-diff.js";

/** An application that the merge adds, changes or removes, and others with the same content. */
export interface PreviewGroup {
  readonly first: Preview;
  readonly same: readonly Preview[];
}

/** Groups previews of the same content by their origin, in the given order, the urgent ones first. */
export function groupPreviews(previews: readonly Preview[]): readonly PreviewGroup[] {
  return [...groupedBy(previews, originKey).values()].flatMap((own) => {
    const keyed = own.map((one, index) => {
      return { one, key: JSON.stringify([one.origin.change, contentKey(one.content) ?? index]) };
    });
    const groups = [...groupedBy(keyed, ({ key }) => key).values()];
    const all = groups.map(([first, ...same]) => ({ first: first.one, same: same.map(({ one }) => one) }));
    return [...all.filter(isUrgent), ...all.filter((one) => !isUrgent(one))];
  });
}

export function isUrgent({ first: { content } }: PreviewGroup): boolean {
  return (previewedDiff(content)?.dangers.length ?? 0) > 0 || (content.checks ?? []).some(isFailed);
}

function originKey({ origin: { kind, of } }: Preview): string {
  return JSON.stringify([kind, of]);
}

/** Equal for equal content; undefined if a diff is cut or hides values. */
function contentKey(content: PreviewContent): string | undefined {
  const { checks } = content;
  switch (content.kind) {
    case "compared": {
      const { resources, cautions, children, sets, hiddenSecrets, secrets } = content.diff;
      const key = resources.length === 0 ? "" : diffKey(resources);
      if (key === undefined) return undefined;
      return JSON.stringify([key, cautions, children, sets, hiddenSecrets, secrets, checks]);
    }
    case "left-behind":
      return JSON.stringify([content.objects, content.caution]);
    case "failed":
      return JSON.stringify([content.reason, content.withheld, checks]);
    case "beyond-limit":
      return JSON.stringify([content.kind, checks]);
  }
}

/** The most groups of one origin that are shown outside the collapsible. */
const MOST_OPEN = 5;
const MAX_NAMES = 20;
const MAX_NAME = 150;

/** What a plan says of applications that ApplicationSets and parents add, change or remove. */
export function previewsBlocks(
  groups: readonly PreviewGroup[],
  room: Omit<DiffRoom, "section" | "open">,
  words: HostWords,
  limit: number,
): readonly Block[] {
  return [...groupedBy(groups, ({ first }) => originKey(first)).values()].flatMap((own) => {
    const section = `### ${headingOf(own[0].first.origin)}`;
    const blocks = (group: PreviewGroup) => groupBlocks(group, { ...room, section, open: isUrgent(group) }, words);
    const open = own.filter((one, index) => isUrgent(one) || index < MOST_OPEN);
    const folded = own.filter((one) => !open.includes(one));
    const parts = pack(folded.flatMap(blocks), limit);
    const count = folded.reduce((sum, { same }) => sum + 1 + same.length, 0);
    return [
      block(section, section),
      ...open.flatMap(blocks),
      ...parts.map((part) => block(details(counted(count, "more application"), part), section)),
    ];
  });
}

function headingOf({ kind, of, appliedBy }: PreviewOrigin): string {
  const name = code(shortened(of, MAX_NAME));
  switch (kind) {
    case "generated":
      return `Applications of the ApplicationSet ${name}, at the ${appliedBy === undefined ? "merge" : `sync of ${code(appliedBy)}`}`;
    case "child":
      return `Applications below ${name}`;
  }
}

function groupBlocks({ first, same }: PreviewGroup, room: DiffRoom, words: HostWords): readonly Block[] {
  const also = same.map(({ application }) => code(shortened(application, MAX_NAME)));
  const title = `**${code(shortened(first.application, MAX_NAME))}** (${first.origin.change})`;
  const titles = new Set([first, ...same].map(titlesOf));
  const what = titles.size > 1 ? "the same with other names or namespaces" : "the same";
  const others = also.length === 0 ? "" : `, and ${what} in ${also.length} more: ${listed(also, MAX_NAMES)}`;
  return [
    block(`${title}${others}`, room.section),
    ...previewBlocks(first.content, first.origin.change, room, words),
    // Only a running application can be planned by itself.
    ...(first.content.kind === "beyond-limit" && first.origin.kind === "generated" && first.origin.change === "changed"
      ? [block(`To see one, comment ${code(`${words.command} plan -a <application>`)}.`, room.section)]
      : []),
  ];
}

function titlesOf({ content }: Preview): string {
  return JSON.stringify(previewedDiff(content)?.resources.map(({ title }) => title));
}

const MAX_REASON = 4000;
const MAX_TITLES = 2000;

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
  const text = (lines: readonly string[]): Block => block(lines.join("\n\n"), room.section);
  switch (content.kind) {
    case "compared": {
      const { diff } = content;
      const secrets = change === "changed" ? secretLines(diff) : [];
      // Everything is deleted; the cautions say what is dangerous about it.
      const folded = change === "removed" ? { ...room, open: false } : room;
      return [
        text([...countLines(diff, change), ...consequenceLines(diff)]),
        ...diffBlocks(diff.resources, folded, "change"),
        ...(secrets.length === 0 ? [] : [text(secrets)]),
      ];
    }
    case "left-behind": {
      const { length } = content.objects;
      const caution = content.caution === undefined ? [] : [`⚠️ ${content.caution}`];
      if (length === 0) return [text(["It has no resources in the cluster.", ...caution])];
      const list = fence(shortened(content.objects.join("\n"), Math.min(room.names, MAX_TITLES)));
      const what = `**Leaves behind:** ${counted(length, "resource")} in the cluster, unmanaged: the application has no finalizer ${code("resources-finalizer.argocd.argoproj.io")}, with which Argo CD would delete them`;
      return [text([what, ...caution, details(`What stays (${counted(length, "resource")})`, list)])];
    }
    case "failed": {
      const next = content.withheld === true ? [afterApproval(words)] : [];
      return [text([`${RESOURCES} could not be previewed`, fence(shortened(content.reason, MAX_REASON)), ...next])];
    }
    case "beyond-limit": {
      const most = `a plan previews at most ${counted(content.limit, "application")} (${code("argocd.preview_limit")})`;
      return [text([`${RESOURCES} not previewed: ${most}`])];
    }
  }
}

const RESOURCES = "**Resources:**";
const UNCHANGED = "No changes: both definitions render the same.";
const HIDDEN = "No visible changes.";

function afterApproval({ command }: HostWords): string {
  return `An approval of this commit plans it again. On forks, and drafts that svc does not plan by itself, comment ${code(`${command} plan`)} after the approval.`;
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
        ...stayLines(diff),
        ...hooks,
      ];
    case "removed":
      return [`**Deletes:** ${counted(deleted, "resource")} with the application`];
  }
}
