import { quoted } from "../api-error.js";
import { same, zeroless, type JsonObject } from "../json.js";
import type { Manifest } from "../manifest.js";
import { hookPhases } from "../manifest.js";
import type { Rendered } from "../render/build-environment.js";
import type { SourceAt } from "../render/render-source.js";
import { SourceFailure, type RenderResult } from "../render/renderer.js";
import {
  isAutoSynced,
  isMultiSource,
  skipsReconcile,
  sourcesOf,
  type Application,
  type ApplicationSpec,
  type Operation,
} from "../resource.js";
import { trackedBy } from "../tracking.js";
import { controlNamespace, type World } from "../world.js";
import { compare, leftHooks, summarise, type Managed } from "./compare.js";
import { FiledManifests } from "./generate-paths.js";
import { HealthPlays } from "./health-play.js";
import { keyOfApplication, liveObject, removeTracked } from "./live-objects.js";

/** The application controller: compares, auto-syncs and reverts. */
export class Controller {
  readonly filed: FiledManifests;
  readonly health: HealthPlays;
  /** Results of the last comparisons, for managed-resources. */
  readonly #compared = new Map<Application, Managed[]>();
  readonly #stale = new Set<Application>();
  /** Specs as an ApplicationSet generated them. */
  readonly #generated = new Map<Application, ApplicationSpec>();
  /** Set by `Operations`. */
  autoSync: (
    application: Application,
    initiatedBy: Operation["initiatedBy"],
    revisions: readonly string[],
  ) => Promise<void> = () => Promise.resolve();

  constructor(readonly world: World) {
    this.filed = new FiledManifests(world.repositories);
    this.health = new HealthPlays(world);
  }

  rendered(application: Application): Rendered {
    const { metadata, spec } = application;
    return {
      instance: this.world.instanceOf(application),
      name: metadata.name,
      namespace: spec.destination.namespace ?? "",
      project: this.world.projectOf(spec),
    };
  }

  /** Renders what the controller takes for these commits; see `FiledManifests`. @throws {SourceFailure} */
  async target(
    application: Application,
    sources: readonly SourceAt[],
    compared = comparedRevisions(application),
  ): Promise<RenderResult> {
    this.filed.note(application, sources, compared);
    return this.world.renderer.render(this.rendered(application), this.filed.actual(application, sources));
  }

  /** Marks the status as out of date. */
  markStale(application: Application): void {
    this.#stale.add(application);
  }

  /** Remembers the spec that an ApplicationSet generated; one that syncs in steps takes auto-sync out of it. */
  noteGenerated(application: Application): void {
    if (this.world.isRolling(application)) delete application.spec.syncPolicy?.automated;
    this.#generated.set(application, structuredClone(application.spec));
  }

  managed(application: Application): readonly Managed[] | undefined {
    return this.#compared.get(application);
  }

  /** Compares if the status is out of date. */
  async settle(application: Application): Promise<void> {
    if (skipsReconcile(application)) return;
    if (application.status.reconciledAt === undefined || this.#stale.has(application)) {
      await this.reconcile(application);
    }
  }

  /** Compares now, at the newest target revisions. Skips an application with skip-reconcile. */
  async reconcile(application: Application, mayAutoSync = true): Promise<void> {
    if (
      skipsReconcile(application) ||
      this.world.find(application.metadata.namespace, application.metadata.name) !== application
    ) {
      return;
    }
    this.#stale.delete(application);
    const { spec } = application;
    const compared = comparedRevisions(application);
    const sources = sourcesOf(spec);
    let at: SourceAt[] | undefined;
    try {
      at = await this.world.renderer.resolve(sources);
      const { manifests, types } = await this.target(application, at);
      this.#addHookFinalizers(application, manifests);
      this.#write(application, at, compare(this.world, application, manifests), types);
    } catch (error) {
      this.#writeFailure(application, at, error);
      return;
    }
    const revisions = at.map(({ revision }) => revision);
    if (
      mayAutoSync &&
      isAutoSynced(spec) &&
      application.operation === undefined &&
      this.#wantsSync(application, revisions)
    ) {
      await this.autoSync(application, { automated: true }, revisions);
    }
    const moved = compared.length > 0 && compared.join() !== revisions.join();
    const differs = (this.#compared.get(application) ?? []).some(({ target, modified }) => modified && target);
    if (moved && differs && application.operation === undefined && this.world.isRolling(application)) {
      await this.autoSync(application, { username: "applicationset-controller", automated: true }, revisions);
    }
  }

  /** Reverts changes to Applications that belong to an ApplicationSet or to a parent with self-heal. */
  async revertForeignChanges(): Promise<void> {
    for (const application of [...this.world.applications.values()]) {
      const owner = application.metadata.ownerReferences?.find(({ kind }) => kind === "ApplicationSet");
      if (owner !== undefined && this.world.sets.has(`${application.metadata.namespace}/${owner.name}`)) {
        this.#asGenerated(application);
      }
    }
    for (const parent of [...this.world.applications.values()]) {
      if (!isAutoSynced(parent.spec) || parent.spec.syncPolicy?.automated?.selfHeal !== true) continue;
      if (this.#stale.has(parent)) await this.reconcile(parent);
    }
  }

  /** Parents notice at once when one of their Applications changes. */
  markParentsStale(child: Application): void {
    const live = liveObject(this.world, keyOfApplication(child));
    const instance = live === undefined ? undefined : trackedBy(live, keyOfApplication(child), this.world.tracking);
    for (const parent of this.world.applications.values()) {
      if (parent !== child && this.world.instanceOf(parent) === instance) this.markStale(parent);
    }
  }

  #asGenerated(application: Application): void {
    const generated = this.#generated.get(application);
    if (generated === undefined) {
      // An Application that names the set as its owner but was not generated counts as a leftover.
      removeTracked(this.world, application);
      this.world.remove(application);
    } else if (!same(generated, application.spec)) {
      application.spec = structuredClone(generated);
      this.world.touch(application);
      this.markStale(application);
    }
  }

  /** True for a new target, or with self-heal for any difference; never repeats what failed at the same commits. */
  #wantsSync(application: Application, revisions: readonly string[]): boolean {
    const { automated } = application.spec.syncPolicy ?? {};
    const items = this.#compared.get(application) ?? [];
    const differs = items.some(
      ({ target, modified }) => modified || (target === undefined && automated?.prune === true),
    );
    const { operation, phase } = application.operationState ?? {};
    const attempted = operation?.sync.revisions ?? [operation?.sync.revision];
    const failed =
      phase !== "Succeeded" && operation?.initiatedBy.automated === true && attempted.join() === revisions.join();
    if (!differs || failed) return false;
    const last = application.history.at(-1);
    const deployed = last?.revisions ?? (last?.revision === undefined ? [] : [last.revision]);
    return automated?.selfHeal === true || deployed.join() !== revisions.join();
  }

  #addHookFinalizers(application: Application, manifests: readonly Manifest[]): void {
    const { metadata } = application;
    for (const [phase, name] of [
      ["PreDelete", "pre-delete-finalizer"],
      ["PostDelete", "post-delete-finalizer"],
    ] as const) {
      if (!manifests.some((manifest) => hookPhases(manifest)?.includes(phase))) continue;
      const wanted = [`${name}.argocd.argoproj.io`, `${name}.argocd.argoproj.io/cleanup`];
      metadata.finalizers = [...new Set([...(metadata.finalizers ?? []), ...wanted])];
    }
  }

  #write(application: Application, at: readonly SourceAt[], managed: Managed[], types: readonly string[]): void {
    this.#compared.set(application, managed);
    const { resources: compared, sync, health, summary } = summarise(managed);
    const resources = [...compared, ...leftHooks(this.world, application)];
    const multi = isMultiSource(application.spec);
    const revisions = at.map(({ revision }) => revision);
    this.#setStatus(application, {
      ...(resources.length === 0 ? {} : { resources }),
      sync: {
        status: sync,
        comparedTo: comparedTo(application),
        ...(multi ? { revisions } : { revision: revisions[0] ?? "" }),
      },
      health: { status: health, lastTransitionTime: this.world.timestamp() },
      ...(multi
        ? { sourceTypes: [...types] }
        : types[0] === undefined || types[0] === ""
          ? {}
          : { sourceType: types[0] }),
      summary,
    });
  }

  #writeFailure(application: Application, at: readonly SourceAt[] | undefined, error: unknown): void {
    this.#compared.delete(application);
    const failure = error instanceof SourceFailure ? `${error.message}: ${quoted(error.cause)}` : quoted(error);
    const revision = at?.[0]?.revision ?? sourcesOf(application.spec)[0]?.targetRevision ?? "";
    // Without a target, everything in the cluster counts as to be pruned (controller/state.go).
    const { resources } = summarise(compare(this.world, application, []));
    this.#setStatus(application, {
      ...(resources.length === 0 ? {} : { resources: resources.map((one) => ({ ...one, status: "Unknown" })) }),
      sync: {
        status: "Unknown",
        comparedTo: comparedTo(application),
        ...(isMultiSource(application.spec) ? {} : zeroless({ revision })),
      },
      health: { status: "Healthy", lastTransitionTime: this.world.timestamp() },
      conditions: [
        {
          type: "ComparisonError",
          message: `Failed to load target state: ${failure}`,
          lastTransitionTime: this.world.timestamp(),
        },
      ],
      summary: {},
    });
  }

  #setStatus(application: Application, status: JsonObject): void {
    application.status = {
      ...status,
      reconciledAt: this.world.timestamp(),
      resourceHealthSource: "appTree",
      controllerNamespace: controlNamespace,
      sourceHydrator: {},
    };
    this.world.touch(application);
  }
}

/** `status.sync.revision(s)`. */
export function comparedRevisions(application: Application): string[] {
  const sync = application.status.sync as { revision?: string; revisions?: string[] } | undefined;
  return sync?.revisions ?? (sync?.revision === undefined ? [] : [sync.revision]);
}

function comparedTo({ spec }: Application): JsonObject {
  const { destination, ignoreDifferences } = spec;
  const shared = { destination, ...(ignoreDifferences === undefined ? {} : { ignoreDifferences }) };
  const sources = sourcesOf(spec);
  const compared = isMultiSource(spec)
    ? { source: { repoURL: "" }, sources }
    : { source: sources[0] ?? { repoURL: "" } };
  return { ...shared, ...compared };
}
