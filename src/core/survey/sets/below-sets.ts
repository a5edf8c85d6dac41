import { compareGenerated, type ChangedApplicationSet } from "../../detect/scan/application-sets.js";
import type { RenderedSet } from "../../diff/render-facts.js";
import type { ApplicationSet } from "../../model/application.js";
import type { ApplicationName } from "../../model/brand.js";
import type { JsonObject } from "../../model/json.js";
import type { PreviewOrigin } from "../../model/preview.js";
import type { CommandContext } from "../../ports/context.js";
import type { Naming } from "../../ports/deployer.js";
import { readsOnlyKnown } from "../new-reads.js";
import type { PreviewOrder } from "../previews.js";
import type { Survey } from "../survey.js";
import { policyOf } from "./application-set-policy.js";
import { changesToPreview, previewOrder, type ChangeToPreview } from "./generated-previews.js";
import { expansionOf } from "./rendered-sets.js";

/** An application that a parent, or an ApplicationSet below it, adds, changes or removes. */
export interface FoundBelow {
  readonly application: ApplicationName;
  readonly origin: PreviewOrigin;
  readonly order: PreviewOrder;
}

/**
 * What the controller makes of the applications of an ApplicationSet that a parent applies. Nothing of a set that could show
 * what its author may not read, or that could not be expanded: the effect of the parent says so.
 */
export async function belowSet(
  rendered: RenderedSet,
  found: Survey,
  nameOf: Naming,
  context: CommandContext,
): Promise<readonly FoundBelow[]> {
  const name = nameOf(rendered.namespace, rendered.name);
  const [base, head] = [rendered.base, rendered.head].map((resource) => resource && asSet(rendered, resource));
  const live = found.everySet.find((one) => nameOf(one.namespace, one.name) === name);
  if (![base, head].every((side) => readsOnlyKnown(side, live, context.change))) return [];
  const set: ChangedApplicationSet = {
    name,
    sourceFile: undefined,
    ...(base === undefined ? {} : { base }),
    ...(head === undefined ? {} : { head }),
    alsoIn: [],
    problem: undefined,
  };
  try {
    const expansion = await expansionOf(rendered, context);
    const running = new Set(found.everyApplication.map((one) => one.name));
    const comparison = compareGenerated(expansion.base, expansion.head);
    const changed = head !== undefined && policyOf(head).updates ? comparison.changed : [];
    const toPreview = [
      ...changesToPreview([{ set, ...expansion, comparison }], running),
      ...changed.flatMap((application): readonly ChangeToPreview[] => {
        if (!running.has(application)) return [];
        const of = (side: typeof expansion.base) => side.find((one) => one.name === application);
        const origin = { kind: "generated", of: name, change: "changed" } as const;
        return [{ application, origin, set, head: of(expansion.head), base: of(expansion.base) }];
      }),
    ];
    return toPreview.map((one) => ({
      application: one.application,
      origin: one.origin,
      order: previewOrder(one, found, context),
    }));
  } catch {
    context.signal.throwIfAborted();
    return [];
  }
}

function asSet({ name, namespace }: RenderedSet, resource: JsonObject): ApplicationSet {
  return { name, namespace, resource };
}
