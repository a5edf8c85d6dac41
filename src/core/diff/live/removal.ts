import { readJsonText, type JsonText } from "../../model/json.js";
import type { Danger } from "../../model/manifest-diff.js";
import type { PreviewContent } from "../../model/plan.js";
import type { Task } from "../../ports/compute.js";
import type { LiveState } from "../../ports/deployer.js";
import { CRD, takenAlong, typeOf } from "../cautions.js";
import { annotationOf, isHook, hasSyncOption } from "../hook.js";
import { titleOf, type ManifestIdentity } from "../manifest-key.js";
import { summarise, type Sides } from "../summarise.js";
import { normaliseLive, withEqualMasks } from "./live-objects.js";

interface RemovalInput {
  readonly state: JsonText<LiveState>;
  /** The application has the finalizer with which Argo CD deletes its objects. */
  readonly cascades: boolean;
  /** Patterns for what must not be shown; see `redact`. */
  readonly redact: readonly string[];
}

/** What the deletion of an application does to its objects. */
export const removalTask: Task<RemovalInput, PreviewContent> = {
  name: "removal",
  run({ state, cascades, redact }) {
    const live = readJsonText(state);
    const objects = liveObjects(live);
    const titles = objects.map(({ identity }) => titleOf(identity)).sort();
    if (!cascades) return { kind: "left-behind", objects: titles };
    const judged = objects.map((one) => ({ ...one, kept: whyKept(one) }));
    const gone = judged.filter(({ kept }) => kept === undefined);
    const diff = summarise(gone, { syncOptions: [], redact, basis: { kind: "branch" } });
    const stale = live.stale === undefined ? [] : [{ text: live.stale, danger: undefined }];
    const found = [...gone.flatMap(danger), ...gone.flatMap(confirmed), ...judged.flatMap(keeping), ...stale];
    return {
      kind: "compared",
      diff: {
        ...diff,
        // Prune=false is only about syncs.
        deleted: diff.resources.length,
        stay: undefined,
        cautions: found.map(({ text }) => text),
        dangers: found.flatMap((one) => (one.danger === undefined ? [] : [one.danger])),
      },
    };
  },
};

interface LiveObject extends Sides {
  readonly base: NonNullable<Sides["base"]>;
}

function liveObjects({ resources }: LiveState): readonly LiveObject[] {
  return resources.flatMap(({ group, kind, namespace, name, live, hook }) => {
    if (live === undefined || hook || isHook(live)) return [];
    const identity: ManifestIdentity = { group, kind, namespace, name, generateName: "" };
    return [{ identity, base: withEqualMasks(identity, normaliseLive(live)), head: undefined, hook: false }];
  });
}

/**
 * Why the object stays although Argo CD deletes those of the application (v3.5 `shouldBeDeleted` in
 * `controller/appcontroller.go`).
 */
function whyKept({ identity, base }: LiveObject): string | undefined {
  if (typeOf(identity) === CRD) return "Argo CD deletes no definition of custom resources with an application";
  if (hasSyncOption(base, "Delete=false", [])) return "because of Delete=false";
  const policies = (annotationOf(base, "helm.sh/resource-policy") ?? "").split(",").map((one) => one.trim());
  return policies.includes("keep") ? "because of helm.sh/resource-policy: keep" : undefined;
}

interface Remark {
  readonly text: string;
  readonly danger: Danger | undefined;
}

function danger({ identity, base }: LiveObject): readonly Remark[] {
  const taken = takenAlong(identity, base);
  if (taken === undefined) return [];
  const what = `deletes ${titleOf(identity)}`;
  return [{ text: `${what}: ${taken}`, danger: { what, pruning: false } }];
}

function confirmed({ identity, base }: LiveObject): readonly Remark[] {
  if (!hasSyncOption(base, "Delete=confirm", [])) return [];
  const text = `waits with ${titleOf(identity)} until somebody confirms its deletion in Argo CD (Delete=confirm)`;
  return [{ text, danger: undefined }];
}

function keeping({ identity, kept }: LiveObject & { readonly kept: string | undefined }): readonly Remark[] {
  if (kept === undefined) return [];
  const text = `keeps ${titleOf(identity)} in the cluster, ${kept}: delete it by hand if it is to go`;
  return [{ text, danger: undefined }];
}
