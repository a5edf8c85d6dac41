import type { IncomingMessage } from "node:http";

/** Both hosts send at most 25 MB. */
export const MAX_WEBHOOK_BYTES = 25 * 1024 * 1024;

/**
 * The raw bytes of a request; undefined as soon as more than `limit` bytes have come, whatever its headers promised.
 * Express's own raw reader would take in an oversized body to its very end before it refuses it.
 */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
