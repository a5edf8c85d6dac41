import { setImmediate } from "node:timers/promises";
import { isMultiSource } from "../../core/model/application-spec.js";
import type { Manifest, Pin } from "../../core/model/application.js";
import { changeRequestKey } from "../../core/model/change-request.js";
import type { JsonText } from "../../core/model/json.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Compute } from "../../core/ports/compute.js";
import type { RenderRequest } from "../../core/ports/deployer.js";
import type { Log } from "../../core/ports/log.js";
import { getManifests, postApplication, type Target } from "./application-calls.js";
import { ArgoCdFailure, GRPC, isAbsent } from "./argocd-failure.js";
import type { ArgoCdConfig, Client, Query } from "./client.js";
import { readManifestsTask, type RenderedAs } from "./normalise-manifests.js";
import { readLarge } from "./read-large.js";
import { removeTemporary } from "./remove-temporary.js";
import { createSemaphore } from "./semaphore.js";
import type { ServerSettings } from "./server-settings.js";
import { temporaryApplication, temporaryName } from "./temporary-application.js";
import { rawSources } from "./to-application.js";

/** Another replica of Argo CD's API server may not know a new Application yet; 10 seconds in total. */
const APPEARANCE_WAITS_MS = [250, 750, 1500, 2500, 5000] as const;

interface Parts {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly compute: Compute;
  readonly serverSettings: () => Promise<ServerSettings>;
}

/** Argo CD's answer, and what it rendered. */
interface Rendered extends Pick<RenderedAs, "rendered" | "settings"> {
  readonly answer: string;
}

export type Render = (request: RenderRequest, signal: AbortSignal) => Promise<JsonText<readonly Manifest[]>>;

/** Renders at most `renderConcurrency` applications at a time, in the order of the calls. */
export function createRender(config: ArgoCdConfig, parts: Parts): Render {
  const { client, clock, log, compute } = parts;
  const semaphore = createSemaphore(config.renderConcurrency);

  async function inPlace(request: RenderRequest, signal: AbortSignal): Promise<Rendered> {
    const { application, fresh } = request;
    const settings = await parts.serverSettings();
    const query = { ...atPins(request), ...(fresh ? { noCache: true } : {}) };
    const answer = await getManifests(client, application, query, { timeoutMs: config.renderTimeoutMs, signal });
    const { resourceName, namespace } = application;
    return { answer, rendered: { resourceName, namespace }, settings };
  }

  async function temporary(request: RenderRequest, signal: AbortSignal): Promise<Rendered> {
    const { application, fresh } = request;
    const settings = await parts.serverSettings();
    checkPins(request);
    signal.throwIfAborted();
    const { namespace, project } = application;
    const target = { resourceName: temporaryName(request), namespace, project };
    const query = fresh ? { noCache: true } : {};
    await create(request, target);
    try {
      const answer = await whenItAppears(
        () => getManifests(client, target, query, { timeoutMs: config.renderTimeoutMs, signal }),
        signal,
      );
      return { answer, rendered: target, settings };
    } finally {
      await cleanUp(target);
    }
  }

  /** Takes no signal: an aborted creation may still happen, after the clean-up has looked for it. */
  async function create(request: RenderRequest, target: Target): Promise<void> {
    const expires = new Date(clock.now().getTime() + 2 * config.renderTimeoutMs);
    const resource = temporaryApplication(request, expires);
    try {
      await postApplication(client, resource).catch(async (error: unknown) => {
        // The same code means an invalid spec, or a name that an interrupted run left behind.
        const taken = error instanceof ArgoCdFailure && error.code === GRPC.invalidArgument;
        if (!taken || !(await removeTemporary(client, clock, { target, created: false }))) throw error;
        await postApplication(client, resource);
      });
    } catch (error) {
      if (error instanceof ArgoCdFailure && error.maybeDone) await cleanUp(target);
      throw error;
    }
  }

  async function whenItAppears(ask: () => Promise<string>, signal: AbortSignal): Promise<string> {
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
      // Lets the next request start before this answer is processed.
      await setImmediate();
      const real = { resourceName: request.application.resourceName, namespace: request.application.namespace };
      const limits = { owner: changeRequestKey(request.change), signal, what: "what Argo CD rendered" };
      return await readLarge(compute, readManifestsTask, { answer, as: { ...of, real } }, limits);
    } catch (error) {
      throw renderFailure(error);
    }
  };
}

/** Parameters to render the live spec at the pins. Argo CD silently ignores those for the other kind of spec. */
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
 * A render's "not found" or "invalid" is about a repository, a file or a chart, not about the application: only failures of
 * the connection and the token keep their reason.
 */
function renderFailure(error: unknown): unknown {
  if (!(error instanceof ArgoCdFailure)) return error;
  if (error.reason !== "not-found" && error.reason !== "refused") return error;
  return new ArgoCdFailure("failed", error.message, { code: error.code, cause: error });
}
