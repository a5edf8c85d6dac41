import { issueAgain } from "./bare-calls.js";
import type { RunningService, Timed } from "./running-service.js";
import type { SeenCall } from "./sandbox-process.js";

/** One plan: its calls to Argo CD, its duration, and the duration of the same renders alone, and with what Kubernetes is asked. */
export interface MeasuredPlan extends Timed {
  readonly renders: number;
  /** Single applications. */
  readonly gets: number;
  readonly otherCalls: number;
  /** Compressed size. */
  readonly bytes: number;
  /** CPU time of the service during the plan; the rest was waiting. */
  readonly cpuMs: number;
  readonly boundMs: number;
  /** With the questions to Kubernetes after the renders, as in the plan. */
  readonly answeredBoundMs: number;
}

/** Measures the plan that `order` causes, and then its lower bound: the same calls for renders again, bare. */
export async function measurePlan(
  service: RunningService,
  order: Parameters<RunningService["timed"]>[0],
): Promise<MeasuredPlan> {
  await service.calls();
  const before = process.cpuUsage();
  const timed = await service.timed(order);
  const { user, system } = process.cpuUsage(before);
  const calls = await service.calls();
  const renders = calls.filter(({ path }) => path.endsWith("/manifests"));
  const gets = calls.filter(({ method, path }) => method === "GET" && /\/applications\/[^/]+$/.test(path));
  const questions = calls.filter(isQuestion);
  const boundMs = await issueAgain(
    calls.filter((call) => !isQuestion(call)),
    service,
  );
  return {
    renders: renders.length,
    gets: gets.length,
    otherCalls: calls.length - renders.length - gets.length,
    bytes: calls.reduce((sum, { bytes }) => sum + bytes, 0),
    ...timed,
    cpuMs: (user + system) / 1000,
    boundMs,
    answeredBoundMs: boundMs + (await issueAgain(questions, service)),
  };
}

function isQuestion({ path }: SeenCall): boolean {
  return path.endsWith("/managed-resources") || path.endsWith("/ServerSideDiff");
}
