import { checkSentences } from "../../comments/plan-checks.js";
import { type Plan, previewedDiff, type Preview } from "../../core/model/plan.js";
import {
  applicationView,
  countsOf,
  failedChecksIn,
  previewSentences,
  type ApplicationView,
  type PlanViewOptions,
} from "./application-view.js";
import { newRoom, resourceView, type Room } from "./resource-view.js";

/** Every application of a plan, and those that the merge changes besides, with their whole diffs. */
export function planView(plan: Plan, options: PlanViewOptions): readonly ApplicationView[] {
  const room = newRoom();
  return [
    ...plan.applications.map((one) => applicationView(one, options, room)),
    ...plan.previews
      .filter(({ content }) => content.kind !== "beyond-limit")
      .map((one) => previewView(one, options, room)),
    ...unseenViews(plan.previews.filter(({ content }) => content.kind === "beyond-limit")),
  ];
}

/** Those beyond the limit, together and by name: thousands of them may come of one ApplicationSet. */
function unseenViews(previews: readonly Preview[]): readonly ApplicationView[] {
  return [...new Set(previews.map(markOf))].map((mark) => {
    const names = previews.filter((one) => markOf(one) === mark).map(({ application }) => application);
    const title = names.length === 1 ? "1 more application" : `${names.length} more applications`;
    const sentences = ["A plan previews no more of them (`deployer.preview_limit`).", names.join(", ")];
    const nothing = {
      counts: [],
      cautions: [],
      failedChecks: [],
      reason: undefined,
      sourceFile: undefined,
      heldBy: undefined,
    };
    return { application: title, mark, ...nothing, sentences, resources: [], hidden: 0 };
  });
}

function markOf({ origin }: Preview): string {
  return `${origin.change} by ${origin.of} at the merge`;
}

/** An application that an ApplicationSet or a parent adds, changes or removes. */
function previewView(preview: Preview, { withDiff }: PlanViewOptions, room: Room): ApplicationView {
  const { application, content } = preview;
  const diff = previewedDiff(content);
  const resources = diff?.resources ?? [];
  return {
    application,
    mark: markOf(preview),
    counts: diff === undefined ? [] : countsOf(diff),
    cautions: withDiff ? (diff?.cautions ?? []) : [],
    sentences: [...checkSentences(content.checks ?? []), ...previewSentences(content, withDiff)],
    reason: withDiff && content.kind === "failed" ? content.reason : undefined,
    failedChecks: failedChecksIn(content.checks ?? [], withDiff),
    sourceFile: undefined,
    heldBy: undefined,
    resources: withDiff ? resources.map((resource) => resourceView(resource, room)) : [],
    hidden: withDiff ? 0 : resources.length,
  };
}
