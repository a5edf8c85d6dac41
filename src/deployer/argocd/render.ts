import { setImmediate } from "node:timers/promises";
import { isMultiSource } from "../../core/model/application-spec.js";
import type { Manifest, Pin } from "../../core/model/application.js";
import type { Clock } from "../../core/ports/clock.js";
import type { RenderRequest } from "../../core/ports/deployer.js";
import type { Log } from "../../core/ports/log.js";
import { getManifests, postApplication, type Target } from "./application-calls.js";
import { ArgoCdFailure, GRPC, isAbsent } from "./argocd-failure.js";
import type { Client, Query } from "./client.js";
import type { ArgoCdConfig } from "./config.js";
import { normaliseManifests, type RenderedAs } from "./normalise-manifests.js";
import { rawSources } from "./raw-sources.js";
import { removeTemporary } from "./remove-temporary.js";
import { createSemaphore } from "./semaphore.js";
import type { ServerSettings } from "./server-settings.js";
import { temporaryApplication, temporaryName } from "./temporary-application.js";

/** Another replica of Argo CD's API server may not know a new Application yet; together 10 seconds. */
const APPEARANCE_WAITS_MS = [250, 750, 1500, 2500, 5000] as const;

interface Parts {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly serverSettings: () => Promise<ServerSettings>;
}

/** What Argo CD answered, and what it had been asked to render. */
interface Rendered extends Pick<RenderedAs, "rendered" | "settings"> {
  readonly answer: unknown;
}

export type Render = (request: RenderRequest, signal?: AbortSignal) => Promise<readonly Manifest[]>;

/** Renders at most `renderConcurrency` applications at a time, first come first served. */
export function createRender(config: ArgoCdConfig, parts: Parts): Render {
  const { client, clock, log } = parts;
  const semaphore = createSemaphore(config.renderConcurrency);

  async function inPlace(request: RenderRequest, signal: AbortSignal | undefined): Promise<Rendered> {
    const { application, fresh } = request;
    const settings = await parts.serverSettings();
    const query = { ...atPins(request), ...(fresh ? { noCache: true } : {}) };
    const answer = await getManifests(client, application, query, config.renderTimeoutMs, signal);
    return { answer, rendered: application, settings };
  }

  async function temporary(request: RenderRequest, signal: AbortSignal | undefined): Promise<Rendered> {
    const { application, fresh } = request;
    const settings = await parts.serverSettings();
    checkPins(request);
    signal?.throwIfAborted();
    const target = {
      resourceName: temporaryName(request),
      namespace: application.namespace,
      project: application.project,
    };
    await create(request, target);
    try {
      const answer = await whenItAppears(
        () => getManifests(client, target, fresh ? { noCache: true } : {}, config.renderTimeoutMs, signal),
        signal,
      );
      return { answer, rendered: target, settings };
    } finally {
      await cleanUp(target);
    }
  }

  /** Not stoppable by the signal: a creation that is broken off may still happen, after the deletion has looked for it. */
  async function create(request: RenderRequest, target: Target): Promise<void> {
    const expires = new Date(clock.now().getTime() + 2 * config.renderTimeoutMs);
    const resource = temporaryApplication(request, expires);
    try {
      await postApplication(client, resource).catch(async (error: unknown) => {
        // Argo CD answers this code when the name is taken by a predecessor that was killed, and for an invalid spec.
        const taken = error instanceof ArgoCdFailure && error.code === GRPC.invalidArgument;
        if (!taken || !(await removeTemporary(client, clock, { target, created: false }))) throw error;
        await postApplication(client, resource);
      });
    } catch (error) {
      if (error instanceof ArgoCdFailure && error.maybeDone) await cleanUp(target);
      throw error;
    }
  }

  async function whenItAppears(ask: () => Promise<unknown>, signal: AbortSignal | undefined): Promise<unknown> {
    for (const wait of APPEARANCE_WAITS_MS) {
      try {
        return await ask();
      } catch (error) {
        if (!isAbsent(error)) throw error;
        await clock.sleep(wait, signal);
      }
    }
    return ask();
  }

  async function cleanUp(target: Target): Promise<void> {
    try {
      await removeTemporary(client, clock, { target, created: true });
    } catch (error) {
      const text = "could not delete a temporary Application; the sweep tries again after its expiry";
      log.error({ application: target.resourceName, namespace: target.namespace, err: error }, text);
    }
  }

  return async (request, signal) => {
    const work = request.mode === "in-place" ? inPlace : temporary;
    try {
      const { answer, ...of } = await semaphore.run(() => work(request, signal), signal);
      // The next request goes out before this answer is worked through.
      await setImmediate();
      return normaliseManifests(answer, { ...of, real: request.application });
    } catch (error) {
      throw renderFailure(error);
    }
  };
}

/** The parameters that render the live spec at the pins; Argo CD ignores the form for the other kind of spec in silence. */
function atPins(request: RenderRequest): Pick<Query, "revision" | "sourcePositions" | "revisions"> {
  const pins = checkPins(request);
  if (pins.length === 0) return {};
  if (!isMultiSource(request.application.spec)) return { revision: pins[0]?.revision };
  return { sourcePositions: pins.map((pin) => pin.position), revisions: pins.map((pin) => pin.revision) };
}

function checkPins(request: RenderRequest): readonly Pin[] {
  const { application, pins } = request;
  const count = rawSources(application.spec).length;
  const wrong = pins.find((pin) => pin.position < 1 || pin.position > count);
  if (wrong === undefined) return pins;
  throw new ArgoCdFailure("failed", `${application.name} has ${count} sources and no source ${wrong.position}`);
}

/**
 * A render's 404 or "invalid" is about a repository, a file or a chart, not about the application: only what concerns the
 * connection and the token keeps its reason.
 */
function renderFailure(error: unknown): unknown {
  if (!(error instanceof ArgoCdFailure)) return error;
  if (error.reason !== "not-found" && error.reason !== "refused") return error;
  return new ArgoCdFailure("failed", error.message, { code: error.code, cause: error });
}
