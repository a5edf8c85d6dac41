import type { ApplicationSpec, Manifest } from "../model/application.js";
import { type JsonText, readJsonText } from "../model/json.js";
import type { ManifestDiff } from "../model/plan.js";
import type { Task } from "../ports/compute.js";
import type { LiveState } from "../ports/deployer.js";
import { diffLive } from "./live-diff.js";
import { diffManifests, type DiffRequest } from "./manifest-diff.js";

/** A comparison whose large parts are texts. */
export interface DiffInput extends Omit<DiffRequest, "base" | "head"> {
  readonly base: JsonText<readonly Manifest[]>;
  readonly head: JsonText<readonly Manifest[]>;
  /** The cluster, if the head is compared with it. */
  readonly live: { readonly state: JsonText<LiveState>; readonly spec: ApplicationSpec } | undefined;
}

/** Compares two renders, or the head with the cluster. The result contains no value of a Secret. */
export const diffTask: Task<DiffInput, ManifestDiff> = {
  name: "diff",
  run({ live, ...input }) {
    const request = { ...input, base: readJsonText(input.base), head: readJsonText(input.head) };
    if (live === undefined) return diffManifests(request);
    return diffLive({ ...request, live: readJsonText(live.state), spec: live.spec });
  },
};

/** Characters of foreign content in a comparison. */
export function sizeOf({ base, head, live }: DiffInput): number {
  return base.length + head.length + (live?.state.length ?? 0);
}
