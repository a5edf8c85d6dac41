import { Pool } from "undici";
import type { RunningService } from "./running-service.js";
import type { SeenCall } from "./sandbox-process.js";

/** Default of `argocd.render_concurrency`. */
export const RENDER_CONCURRENCY = 8;

/** Calls of which each waits for the one before. */
interface Chain {
  readonly calls: SeenCall[];
}

/**
 * Milliseconds of a plan's renders, or of its questions to Kubernetes, with a bare HTTP client: the same calls in the same order,
 * as many at a time as renders. The temporary Application of a render is created, looked at and deleted as in the plan, and an
 * application's live objects are read before it is asked about. Answers are read and dropped.
 * @throws {Error} if an answer has another status than in the plan.
 */
export async function issueAgain(calls: readonly SeenCall[], service: RunningService): Promise<number> {
  const chains = chainsOf(calls);
  // Requests wait in it for a free connection, in order.
  const pool = new Pool(service.argocdUrl, { connections: RENDER_CONCURRENCY });
  const started = performance.now();
  await Promise.all(chains.map((chain) => inTurn(chain, pool, service)));
  const ms = performance.now() - started;
  await pool.close();
  return ms;
}

/** Reads of single applications, lists and settings are left out: they would only make the bound larger. */
function chainsOf(calls: readonly SeenCall[]): readonly Chain[] {
  const temporary = new Map<string, Chain>();
  const trials = new Map<string, Chain>();
  const renders: Chain[] = [];
  for (const call of calls) {
    const { method, path, application } = call;
    if (application === undefined) continue;
    if (method === "POST" && path.endsWith("/applications")) {
      const chain = { calls: [call] };
      temporary.set(application, chain);
      renders.push(chain);
    } else if (temporary.has(application)) temporary.get(application)?.calls.push(call);
    else if (path.endsWith("/manifests")) renders.push({ calls: [call] });
    else if (path.endsWith("/managed-resources")) trials.set(application, { calls: [call] });
    else trials.get(application)?.calls.push(call);
  }
  return [...renders, ...trials.values()];
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
