import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { repositoryName } from "../../../src/core/model/brand.js";
import { traceRun } from "../../../src/observe/telemetry.js";
import { startTracing } from "../../../src/observe/tracing/start-tracing.js";
import { createRedisStores } from "../../../src/store/redis/redis-stores.js";
import { recordingLog } from "../../recording-log.js";
import { RedisServer } from "../../redis-server.js";
import { HOSTS, SECRET, startBot, type Bot, type BotOptions } from "../../scenarios/bot.js";
import { changeOf } from "../../scenarios/resources.js";
import { startReceiver, type ReceivedSpan } from "./otlp-receiver.js";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

let receiver: Awaited<ReturnType<typeof startReceiver>>;
let tracing: ReturnType<typeof startTracing>;
let redis: RedisServer;

beforeAll(async () => {
  receiver = await startReceiver();
  redis = await RedisServer.start();
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = receiver.url;
  process.env.OTEL_EXPORTER_OTLP_PROTOCOL = "http/json";
  process.env.OTEL_RESOURCE_ATTRIBUTES = "deployment.environment.name=test";
  process.env.OTEL_BSP_SCHEDULE_DELAY = "50";
  tracing = startTracing("1.2.3", recordingLog());
});

afterAll(async () => {
  await tracing.close();
  await receiver.stop();
  await redis.stop();
});

async function startTraced(options: BotOptions): Promise<Bot> {
  return startBot({ ...options, tracer: tracing.tracer });
}

/** Until the run of this event has arrived; its children end before it and arrive no later. */
async function untilRunOf(number: number, event: string): Promise<ReceivedSpan> {
  for (;;) {
    const found = receiver.spans.find(
      ({ name, attributes }) => name === `run ${event}` && Number(attributes["svc.change_request"]) === number,
    );
    if (found !== undefined) return found;
    await new Promise(setImmediate);
  }
}

function parentsOf(span: ReceivedSpan): readonly string[] {
  const parent = receiver.spans.find(({ spanId }) => spanId === span.parentSpanId);
  return parent === undefined ? [] : [parent.name, ...parentsOf(parent)];
}

const STORES = {
  memory: () => undefined,
  redis: () => createRedisStores({ address: redis.address, db: 0, tls: false }, { log: recordingLog() }),
} as const;

describe.each(HOSTS)("a trace on %s", (host) => {
  test.each(["memory", "redis"] as const)(
    "goes from the webhook over the queue in %s to the comment, with a span per call out",
    async (where) => {
      receiver.spans.length = 0;
      const stores = STORES[where]();
      const bot = await startTraced({ host, ...(stores && { stores: () => stores }) });
      const one = await bot.open(changeOf(["web"]));
      const run = await untilRunOf(one, "updated");
      expect(parentsOf(run)).toEqual(["queue.push", `POST /webhook/${host}`]);
      const trace = receiver.spans.filter(({ traceId }) => traceId === run.traceId);
      const names = new Set(trace.map(({ name }) => name));
      for (const call of [
        `${host}.getChangeRequest`,
        `${host}.postComment`,
        `${host}.setStatus`,
        "argocd.renderManifests",
        "git.open",
        "git.list",
        "store.locks.acquire",
        "store.plans.save",
        "store.audit.record",
      ]) {
        if (call === "hostb.setStatus") continue;
        expect([...names]).toContain(call);
      }
      expect(parentsOf(trace.find(({ name }) => name === `${host}.postComment`) ?? run).at(-1)).toBe(
        `POST /webhook/${host}`,
      );
      const ids = new Set(trace.map(({ spanId }) => spanId));
      const lost = trace.filter(({ parentSpanId }) => parentSpanId !== undefined && parentSpanId !== "");
      expect(lost.filter(({ parentSpanId }) => !ids.has(parentSpanId ?? ""))).toEqual([]);
    },
  );
});

test("two webhooks are two traces, also when they wait for each other", async () => {
  receiver.spans.length = 0;
  const bot = await startTraced({ host: "hosta" });
  const one = await bot.open(changeOf(["web"]));
  await Promise.all([bot.forge.comment("acme/deploy", one, "ana", "svc help"), bot.push(one, changeOf(["web"], "9"))]);
  await bot.idle();
  const received = () => receiver.spans.filter(({ name }) => name.startsWith("run "));
  // Opened, commented and pushed; spans arrive some time after their runs ended.
  while (received().length < 3) await new Promise(setImmediate);
  const runs = received();
  expect(new Set(runs.map(({ traceId }) => traceId)).size).toBe(runs.length);
});

test.each([
  [`00-${TRACE}-00f067aa0ba902b7-01`, TRACE],
  [`00-${"0".repeat(32)}-00f067aa0ba902b7-01`, undefined],
  ["no trace context", undefined],
  [undefined, undefined],
])(
  "an event with the trace context %j runs in the trace %s, or else in one of its own",
  async (traceparent, traceId) => {
    receiver.spans.length = 0;
    const change = { host: "hosta", repository: repositoryName("acme/deploy"), number: 99 } as const;
    const event = { kind: "reviewed", delivery: "1", change, traceparent } as const;
    await traceRun(event, () => Promise.resolve("done"), tracing.tracer);
    const run = await untilRunOf(99, "reviewed");
    if (traceId === undefined) expect(run.parentSpanId ?? "").toBe("");
    else expect(run).toMatchObject({ traceId, parentSpanId: "00f067aa0ba902b7" });
  },
);

test("a call that fails is marked with the kind of its failure, and no text of anybody stands in a trace", async () => {
  receiver.spans.length = 0;
  receiver.texts.length = 0;
  const bot = await startTraced({ host: "hosta" });
  bot.argocd.faults.add({ path: /\/manifests/, fault: { kind: "status", status: 403 } });
  const one = await bot.open(changeOf(["web"]));
  await bot.comment(one, "svc sync\n\nmy very private words");
  await untilRunOf(one, "commented");
  const failed = receiver.spans.find(({ name, failed }) => failed && name === "argocd.renderManifests");
  expect(failed?.attributes).toEqual({ "error.type": "DeployerFailure.forbidden" });
  const sent = receiver.texts.join("\n");
  expect(sent).not.toMatch(/my very private words|svc sync/);
  expect(sent).not.toContain(SECRET);
  expect(sent).not.toContain(bot.world.argocdToken);
});

test("the service is named by the standard attributes, and nothing but traces is sent", () => {
  expect([...receiver.paths]).toEqual(["/v1/traces"]);
  expect(receiver.resources[0]).toMatchObject({
    "service.name": "svc",
    "service.version": "1.2.3",
    "deployment.environment.name": "test",
  });
  expect(Object.keys(receiver.resources[0] ?? {})).not.toContain("process.command_args");
});
