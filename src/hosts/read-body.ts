import type { IncomingMessage } from "node:http";

/** Both hosts send at most 25 MB. */
export const MAX_WEBHOOK_BYTES = 25 * 1024 * 1024;

/**
 * The raw bytes of a request; undefined as soon as more than `limit` bytes have come, whatever its headers promised: the
 * rest is left unread. Express's own raw reader would take in an oversized body to its very end before it refuses it.
 * Rejects when the request ends early.
 */
export function readBody(request: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const take = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) {
        chunks.push(chunk);
        return;
      }
      request.off("data", take).pause();
      resolve(undefined);
    };
    request.on("data", take);
    request.once("end", () => resolve(Buffer.concat(chunks, size)));
    request.on("error", reject);
    request.once("close", () => {
      // An error carries its stack, which is not worth writing down after each whole request.
      if (!request.readableEnded) reject(new Error("the request ended early"));
    });
  });
}
