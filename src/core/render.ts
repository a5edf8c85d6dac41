import type { ApplicationSpec, Manifest } from "./application.js";
import type { Revision } from "./brand.js";
import type { CommandContext } from "./commands/context.js";
import { helmPositions, overrideFiles } from "./detect/application-files.js";
import { GENERATE_PATHS_ANNOTATION } from "./detect/generate-paths.js";
import { safeMessage } from "./errors.js";
import type { RenderRequest } from "./ports.js";
import { specEqual } from "./spec-equality.js";
import type { LiveSubject } from "./survey.js";

export type Rendered =
  | { readonly kind: "rendered"; readonly manifests: readonly Manifest[] }
  | { readonly kind: "failed"; readonly reason: string };

/**
 * Renders one side of many applications. Sides are rendered one after the other by the caller: Argo CD's repo-server
 * lets renders of one revision run side by side and makes those of another wait.
 */
export async function renderSide(
  side: "head" | "base",
  subjects: readonly LiveSubject[],
  context: CommandContext,
): Promise<ReadonlyMap<LiveSubject, Rendered>> {
  const rendered = await Promise.all(
    subjects.map(async (subject) => [subject, await renderOne(side, subject, context)] as const),
  );
  context.signal.throwIfAborted();
  return new Map(rendered);
}

async function renderOne(side: "head" | "base", subject: LiveSubject, context: CommandContext): Promise<Rendered> {
  const { change, deployer, signal, clock, log } = context;
  const { spec, positions } = subject[side];
  const at = side === "head" ? change.headRevision : change.baseRevision;
  const mode = context.temporaryApps === "always" || !specEqual(spec, subject.live.spec) ? "temporary" : "in-place";
  const application = { ...subject.live, spec, project: projectOf(spec) };
  try {
    const overrides = mode === "temporary" ? await overrideFiles(application, change, context.snapshot, at) : [];
    if (overrides.length > 0) return { kind: "failed", reason: overridesLost(overrides) };
    const request: RenderRequest = {
      application,
      mode,
      pins: positions.map((position) => ({ position, revision: at })),
      side,
      change,
      helmPositions: mode === "temporary" ? await helmPositions(application, change, context.snapshot, at) : [],
      fresh: subject.live.annotations[GENERATE_PATHS_ANNOTATION] !== undefined,
    };
    const begin = clock.now().getTime();
    const manifests = await deployer.renderManifests(request, signal);
    log.debug({ application: subject.name, side, mode, ms: clock.now().getTime() - begin }, "rendered");
    return { kind: "rendered", manifests };
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ application: subject.name, side, err: error }, "rendering failed");
    return { kind: "failed", reason: `${sideName(side, at, context)}: ${safeMessage(error)}` };
  }
}

function projectOf(spec: ApplicationSpec): string {
  const project = spec.project;
  return typeof project === "string" && project !== "" ? project : "default";
}

/** Argo CD finds such a file by the application's name, so that a temporary Application would be rendered without it. */
function overridesLost(files: readonly string[]): string {
  return (
    `the definition changes, and ${files.join(", ")} overrides parameters by the application's name: ` +
    "a preview under a temporary name would leave these out. Move the parameters into the definition, or change it in a pull request of its own."
  );
}

function sideName(side: "head" | "base", at: Revision, { change }: CommandContext): string {
  return side === "head" ? `at the head commit ${at.slice(0, 8)}` : `at ${change.baseBranch} (${at.slice(0, 8)})`;
}
