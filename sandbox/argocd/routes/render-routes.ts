import { ApiError, codes, unknown } from "../api-error.js";
import type { Controller } from "../controller/controller.js";
import { findApplication } from "../find-application.js";
import { sortedText } from "../json.js";
import type { Manifest } from "../manifest.js";
import { masked } from "../masking.js";
import { SourceFailure } from "../render/renderer.js";
import { isMultiSource, renderedSourcesOf, type Application, type ApplicationSpec } from "../resource.js";
import type { EndpointId } from "../schemas/endpoints.js";
import { tracked } from "../tracking.js";
import type { World } from "../world.js";
import { accountOf, flag, integers, text, texts, type Handler } from "./call.js";

export const renderRoutes = {
  async manifests(call) {
    const { world, controller, parameters } = call;
    const wanted = {
      name: parameters.name ?? "",
      namespace: text(call, "appNamespace"),
      project: text(call, "project"),
    };
    const application = findApplication(world, accountOf(call), "get", wanted);
    const revisions = askedRevisions(
      application.spec,
      text(call, "revision"),
      integers(call, "sourcePositions"),
      texts(call, "revisions"),
    );
    await call.gate.pass();
    const rendered = await renderAsAsked(world, controller, application, revisions, flag(call, "noCache", false));
    const namespace = application.spec.destination.namespace ?? "";
    const manifests = rendered
      .map((manifest) => tracked(manifest, world.instanceOf(application), namespace, world.tracking))
      // Each Secret is masked by itself, so that equal masks in two answers mean nothing.
      .map((manifest) => sortedText(masked([manifest])[0]));
    return manifests.length === 0 ? {} : { manifests };
  },
} satisfies Partial<Record<EndpointId, Handler>>;

/**
 * Revisions by source. `revision` applies to a single source, positions (from 1) to several sources; the other one is
 * ignored silently.
 */
export function askedRevisions(
  spec: ApplicationSpec,
  revision: string | undefined,
  positions: readonly number[],
  revisions: readonly string[],
): (string | undefined)[] {
  if (!isMultiSource(spec)) return [revision];
  const asked: (string | undefined)[] = (spec.sources ?? []).map(() => undefined);
  for (const [index, position] of positions.entries()) {
    if (position <= 0 || position > asked.length) throw unknown("source position is out of range");
    const given = revisions[index];
    if (given === undefined) {
      throw new ApiError(
        codes.internal,
        `runtime error: index out of range [${index}] with length ${revisions.length}`,
      );
    }
    asked[position - 1] = given;
  }
  return asked;
}

/** Renders. @throws {ApiError} the repo-server's own error. */
export async function renderAsAsked(
  world: World,
  controller: Controller,
  application: Application,
  revisions: readonly (string | undefined)[],
  noCache: boolean,
): Promise<readonly Manifest[]> {
  try {
    const at = await world.renderer.resolve(renderedSourcesOf(application.spec), revisions);
    const actual = noCache ? at : controller.filed.actual(application, at);
    return (await world.renderer.render(controller.rendered(application), actual)).manifests;
  } catch (error) {
    throw error instanceof SourceFailure ? error.cause : error;
  }
}
