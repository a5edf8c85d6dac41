import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";

/** A span as it arrives over OTLP/HTTP with JSON. */
export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string | undefined;
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly failed: boolean;
}

const attributes = z
  .array(z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) }))
  .transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]])));

const span = z
  .object({
    name: z.string(),
    traceId: z.string(),
    spanId: z.string(),
    parentSpanId: z.string().optional(),
    kind: z.number(),
    attributes: attributes.default({}),
    status: z.object({ code: z.number().optional(), message: z.string().optional() }).optional(),
  })
  .transform(({ status, ...rest }) => ({ ...rest, failed: status?.code === 2 }));

/** https://opentelemetry.io/docs/specs/otlp/#otlphttp-request */
const exported = z.object({
  resourceSpans: z.array(
    z.object({ resource: z.object({ attributes }), scopeSpans: z.array(z.object({ spans: z.array(span) })) }),
  ),
});

/** A small collector on loopback that keeps what it gets. */
export async function startReceiver() {
  const spans: ReceivedSpan[] = [];
  const texts: string[] = [];
  const resources: Readonly<Record<string, unknown>>[] = [];
  const paths = new Set<string>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const text = Buffer.concat(parts).toString("utf8");
      paths.add(request.url ?? "");
      texts.push(text);
      for (const { resource, scopeSpans } of exported.parse(JSON.parse(text)).resourceSpans) {
        resources.push(resource.attributes);
        spans.push(...scopeSpans.flatMap((scope) => scope.spans));
      }
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    texts,
    resources,
    paths,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
