import type { ApplicationSpec, Manifest } from "../model/application.js";
import { type JsonText, readJsonText } from "../model/json.js";
import type { ManifestDiff } from "../model/manifest-diff.js";
import type { Task } from "../ports/compute.js";
import type { LiveState } from "../ports/deployer.js";
import { type ComparedSecrets, compareSecrets, type SecretsInGit } from "../secrets/secret-changes.js";
import { diffBoth, diffLive } from "./live/live-outcome.js";
import { trialOrder, type TrialOrder } from "./live/trial-order.js";
import { differingByCommit, differingPairs, diffManifests, pairManifests, type DiffRequest } from "./manifest-diff.js";
import { byIdentity } from "./manifest-key.js";
import { renderFacts, type RenderFacts } from "./render-facts.js";
import type { Sides } from "./summarise.js";

/** A comparison whose large parts are texts. */
export interface DiffInput extends Omit<DiffRequest, "base" | "head"> {
  readonly base: JsonText<readonly Manifest[]>;
  readonly head: JsonText<readonly Manifest[]>;
  readonly secretsInGit: SecretsInGit;
  /** Whether Kubernetes is asked about the head. */
  readonly trials?: boolean | undefined;
  /** The cluster, if the head is compared with it. */
  readonly live:
    | {
        readonly mode: "live" | "both";
        readonly state: JsonText<LiveState>;
        readonly spec: ApplicationSpec;
        readonly sameRules: boolean;
      }
    | undefined;
}

/** A comparison, and what the two renders say about other applications. */
interface DiffOutput {
  /** Contains no value of a Secret. */
  readonly diff: ManifestDiff;
  readonly facts: RenderFacts;
  /** What Kubernetes can be asked; undefined if it is not asked. */
  readonly trials: TrialOrder | undefined;
}

/** Compares two renders, the head with the cluster, or both. */
export const diffTask: Task<DiffInput, DiffOutput> = {
  name: "diff",
  run({ live, trials, ...input }) {
    const request = { ...input, base: readJsonText(input.base), head: readJsonText(input.head) };
    const pairs = pairManifests(request);
    const compared = compareSecrets(pairs, input.secretsInGit, renderedTwice(request));
    const { secrets, stayingKeys } = compared;
    const differing = differingPairs(compared.pairs);
    const facts = renderFacts(request, pairs, differing);
    const diff = diffOf(live, { request, pairs, stayingKeys, differing });
    // Hardly any render has a commit in it, and the texts are searched quickly.
    const maybe = input.head.includes(request.placeholders.head.slice(0, 7));
    const onlyCommit = maybe ? differingByCommit(request, pairs, differing) : [];
    const order = trials === true ? trialOrder(request, differing) : undefined;
    return { diff: { ...diff, secrets, onlyCommit }, facts, trials: order };
  },
};

interface Renders {
  readonly request: DiffRequest;
  readonly pairs: ReadonlyMap<string, Sides>;
  readonly stayingKeys: ComparedSecrets<Sides>["stayingKeys"];
  readonly differing: ReadonlyMap<string, Sides>;
}

function diffOf(live: DiffInput["live"], { request, pairs, stayingKeys, differing }: Renders): ManifestDiff {
  if (live === undefined) return diffManifests(request, differing);
  const { mode, state, spec, sameRules } = live;
  const withCluster = { ...request, live: readJsonText(state), spec, sameRules, stayingKeys };
  switch (mode) {
    case "live":
      return diffLive(withCluster, pairs);
    case "both":
      return diffBoth(withCluster, pairs, differing);
  }
}

/** The keys of Secrets that a render has more than once. */
function renderedTwice({ base, head, baseNamespace, destinationNamespace }: DiffRequest): ReadonlySet<string> {
  const ofSecrets = (some: readonly Manifest[]) =>
    some.filter(({ kind }) => typeof kind === "string" && /^Secret$|List$/.test(kind));
  const objects = [...byIdentity(ofSecrets(base), baseNamespace), ...byIdentity(ofSecrets(head), destinationNamespace)];
  return new Set(objects.flatMap(([key, { times }]) => (times > 1 ? [key] : [])));
}

/** Characters of foreign content in a comparison. */
export function sizeOf({ base, head, live }: DiffInput): number {
  return base.length + head.length + (live?.state.length ?? 0);
}
