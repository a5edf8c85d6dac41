import type { ApplicationSpec, Manifest } from "../model/application.js";
import { type JsonText, readJsonText } from "../model/json.js";
import type { ManifestDiff } from "../model/plan.js";
import type { Task } from "../ports/compute.js";
import type { LiveState } from "../ports/deployer.js";
import { diffLive } from "./live-diff.js";
import { differingPairs, diffManifests, pairManifests, type DiffRequest } from "./manifest-diff.js";
import { renderFacts, type RenderFacts } from "./render-facts.js";

/** A comparison whose large parts are texts. */
export interface DiffInput extends Omit<DiffRequest, "base" | "head"> {
  readonly base: JsonText<readonly Manifest[]>;
  readonly head: JsonText<readonly Manifest[]>;
  /** The cluster, if the head is compared with it. */
  readonly live: { readonly state: JsonText<LiveState>; readonly spec: ApplicationSpec } | undefined;
}

/** A comparison, and what the two renders say about other applications. */
export interface DiffOutput {
  /** Contains no value of a Secret. */
  readonly diff: ManifestDiff;
  readonly facts: RenderFacts;
}

/** Compares two renders, or the head with the cluster. */
export const diffTask: Task<DiffInput, DiffOutput> = {
  name: "diff",
  run({ live, ...input }) {
    const request = { ...input, base: readJsonText(input.base), head: readJsonText(input.head) };
    const pairs = pairManifests(request);
    const differing = differingPairs(pairs);
    const facts = renderFacts(request, pairs, differing);
    if (live === undefined) return { diff: diffManifests(request, differing), facts };
    return { diff: diffLive({ ...request, live: readJsonText(live.state), spec: live.spec }, pairs), facts };
  },
};

/** Characters of foreign content in a comparison. */
export function sizeOf({ base, head, live }: DiffInput): number {
  return base.length + head.length + (live?.state.length ?? 0);
}
