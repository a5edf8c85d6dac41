import { Pool } from "undici";
import type { RunningService } from "./running-service.js";
import type { SeenCall } from "./sandbox-process.js";

/** Default of `deployer.render_concurrency`. */
export const RENDER_CONCURRENCY = 8;

/** One plan: its calls to Argo CD, its duration, and the duration of the same renders alone. */
export interface MeasuredPlan {
  readonly renders: number;
  /** Single applications. */
  readonly gets: number;
  readonly otherCalls: number;
  /** Compressed size. */
  readonly bytes: number;
  readonly planMs: number;
  /** CPU time of the service during the plan; the rest was waiting. */
  readonly cpuMs: number;
  readonly boundMs: number;
}

/** Measures the plan that `order` causes, and then its lower bound: the same renders again, in the same order. */
export async function measurePlan(
  service: RunningService,
  order: Parameters<RunningService["timed"]>[0],
): Promise<MeasuredPlan> {
  await service.calls();
  const before = process.cpuUsage();
  const planMs = await service.timed(order);
  const { user, system } = process.cpuUsage(before);
  const calls = await service.calls();
  const renders = calls.filter(({ path }) => path.endsWith("/manifests"));
  const gets = calls.filter(({ path }) => /\/applications\/[^/]+$/.test(path));
  return {
    renders: renders.length,
    gets: gets.length,
    otherCalls: calls.length - renders.length - gets.length,
    bytes: calls.reduce((sum, { bytes }) => sum + bytes, 0),
    planMs,
    cpuMs: (user + system) / 1000,
    boundMs: await issueAgain(renders, service),
  };
}

/** Milliseconds of these renders with a bare HTTP client at the same concurrency. Answers are read and dropped. */
async function issueAgain(renders: readonly SeenCall[], service: RunningService): Promise<number> {
  const pool = new Pool(service.argocdUrl, { connections: RENDER_CONCURRENCY });
  const headers = { authorization: `Bearer ${service.argocdToken}`, "accept-encoding": "gzip" };
  const waiting = [...renders];
  const started = performance.now();
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { statusCode, body } = await pool.request({ method: "GET", path: `${next.path}?${next.query}`, headers });
      await body.dump({ limit: Infinity });
      if (statusCode !== 200) throw new Error(`a render of the bound answered ${statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: RENDER_CONCURRENCY }, work));
  const ms = performance.now() - started;
  await pool.close();
  return ms;
}
