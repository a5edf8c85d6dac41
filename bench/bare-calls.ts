import { Pool } from "undici";
import type { RunningService } from "./running-service.js";
import type { SeenCall } from "./sandbox-process.js";

/** Default of `argocd.render_concurrency`. */
export const RENDER_CONCURRENCY = 8;

/** Calls of which each waits for the one before. */
interface Chain {
  readonly application: string;
  readonly calls: SeenCall[];
}

/**
 * Milliseconds of a plan's renders with a bare HTTP client: the same calls in the same order, as many at a time as renders.
 * The temporary Application of a render is created, looked at and deleted as in the plan; what Kubernetes would say is asked,
 * as many at a time again, once both sides of the application are rendered. Answers are read and dropped.
 * @throws {Error} if an answer has another status than in the plan.
 */
export async function issueAgain(calls: readonly SeenCall[], service: RunningService): Promise<number> {
  const { renders, trials } = chainsOf(calls);
  const pools = { renders: poolOf(service), trials: poolOf(service) };
  const started = performance.now();
  const rendered = new Map<string, Promise<void>[]>();
  for (const chain of renders) {
    const known = rendered.get(chain.application) ?? [];
    rendered.set(chain.application, [...known, inTurn(chain, pools.renders, service)]);
  }
  const tried = trials.map(async (chain) => {
    await Promise.all(rendered.get(chain.application) ?? []);
    await inTurn(chain, pools.trials, service);
  });
  await Promise.all([...[...rendered.values()].flat(), ...tried]);
  const ms = performance.now() - started;
  await Promise.all([pools.renders.close(), pools.trials.close()]);
  return ms;
}

/** Requests wait in it for a free connection, in order. */
function poolOf({ argocdUrl }: RunningService): Pool {
  return new Pool(argocdUrl, { connections: RENDER_CONCURRENCY });
}

/** Reads of single applications, lists and settings are left out: they would only make the bound larger. */
function chainsOf(calls: readonly SeenCall[]): {
  readonly renders: readonly Chain[];
  readonly trials: readonly Chain[];
} {
  const temporary = new Map<string, Chain>();
  const trials = new Map<string, Chain>();
  const renders: Chain[] = [];
  for (const call of calls) {
    const { method, path, application } = call;
    if (application === undefined) continue;
    if (method === "POST" && path.endsWith("/applications")) {
      const chain = { application, calls: [call] };
      temporary.set(application, chain);
      renders.push(chain);
    } else if (temporary.has(application)) temporary.get(application)?.calls.push(call);
    else if (path.endsWith("/manifests")) renders.push({ application, calls: [call] });
    else if (path.endsWith("/managed-resources")) trials.set(application, { application, calls: [call] });
    else trials.get(application)?.calls.push(call);
  }
  return { renders, trials: [...trials.values()] };
}

async function inTurn({ calls }: Chain, pool: Pool, { argocdToken }: RunningService): Promise<void> {
  for (const { method, path, query, body, status } of calls) {
    const bytes = Buffer.from(body, "base64");
    const { statusCode, body: answer } = await pool.request({
      method,
      path: query === "" ? path : `${path}?${query}`,
      headers: {
        authorization: `Bearer ${argocdToken}`,
        token: argocdToken,
        "accept-encoding": "gzip",
        "content-type": path.startsWith("/api/") ? "application/json" : "application/grpc-web+proto",
      },
      body: bytes.length === 0 ? null : bytes,
    });
    await answer.dump({ limit: Infinity });
    if (statusCode !== status) throw new Error(`${method} ${path} of the bound answered ${statusCode}, not ${status}`);
  }
}
