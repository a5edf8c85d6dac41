import type { SourceAt } from "../render/render-source.js";
import { isMultiSource, type Application, type Operation } from "../resource.js";

/** The operation that syncs the application by its spec. */
export function syncOperation(
  application: Application,
  at: readonly SourceAt[],
  initiatedBy: Operation["initiatedBy"],
): Operation {
  const { spec } = application;
  const revisions = at.map(({ revision }) => revision);
  const sources = at.map(({ source }) => source);
  const multi = isMultiSource(spec);
  const syncOptions = spec.syncPolicy?.syncOptions;
  const prune = initiatedBy.automated === true && spec.syncPolicy?.automated?.prune === true;
  return {
    sync: {
      ...(multi ? { sources, revisions } : { revision: revisions[0] ?? "", source: sources[0] }),
      ...(prune ? { prune } : {}),
      ...(syncOptions === undefined ? {} : { syncOptions }),
    },
    initiatedBy,
    retry: spec.syncPolicy?.retry ?? {},
  };
}
