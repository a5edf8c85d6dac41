import { diffLive } from "../diff/live-diff.js";
import { diffManifests, type DiffRequest } from "../diff/manifest-diff.js";
import { applicationSyncOptions } from "../diff/sync-options.js";
import { destinationOf } from "../model/destination.js";
import { safeMessage } from "../model/errors.js";
import type { Evaluated } from "../model/plan.js";
import { specEqual } from "../model/spec-equality.js";
import type { LiveSubject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import type { RenderedSides } from "./render.js";

type BothSides = Extract<RenderedSides, { readonly kind: "rendered" }>;

/**
 * Compares the renders in the configured way. Where the live cluster cannot be read, the renders alone are compared, which
 * hides nothing of the change request, and the result reports it.
 */
export async function compareRenders(
  subject: LiveSubject,
  sides: BothSides,
  { deployer, diffMode, signal, log }: CommandContext,
): Promise<Evaluated> {
  const request = requestOf(subject, sides);
  const writesDefinition = !specEqual(subject.head.spec, subject.live.spec);
  // Argo CD shows live objects of the current cluster only, not of the one that the application moves to.
  switch (movesCluster(subject) ? "branch" : diffMode) {
    case "branch":
      return verdictOf(diffManifests(request), writesDefinition);
    case "live":
      try {
        const live = await deployer.liveResources(subject.live, signal);
        return verdictOf(diffLive({ ...request, live, spec: subject.head.spec }), writesDefinition);
      } catch (error) {
        signal.throwIfAborted();
        log.warn({ application: subject.name, err: error }, "could not read the live cluster");
        return verdictOf(
          { ...diffManifests(request), basis: { kind: "live-failed", reason: safeMessage(error) } },
          writesDefinition,
        );
      }
  }
}

function requestOf(subject: LiveSubject, sides: BothSides): DiffRequest {
  const { head, base } = subject;
  return {
    base: movesCluster(subject) ? [] : sides.base.manifests,
    head: sides.head.manifests,
    destinationNamespace: destinationOf(head.spec).namespace,
    baseNamespace: destinationOf(base.spec).namespace,
    syncOptions: applicationSyncOptions(head.spec),
    placeholders: { base: sides.base.renderedAt, head: sides.head.renderedAt },
  };
}

/** Whether the definition names another cluster: a sync creates everything there and leaves the old objects running. */
export function movesCluster({ head, base }: LiveSubject): boolean {
  return destinationOf(head.spec).cluster !== destinationOf(base.spec).cluster;
}

/** "Unchanged" needs proof, since an unchanged application is neither locked nor synced. */
function verdictOf(diff: Evaluated["diff"], writesDefinition: boolean): Evaluated {
  const unsure = diff.hiddenSecrets || (diff.basis.kind === "live" && diff.basis.alreadyThere.length > 0);
  const verdict = diff.resources.length > 0 ? "changed" : unsure ? "unknown" : "unchanged";
  return { kind: "evaluated", verdict, writesDefinition, diff };
}
