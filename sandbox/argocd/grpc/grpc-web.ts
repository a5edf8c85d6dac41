import type { Request, Response } from "express";
import { ApiError, codes } from "../api-error.js";
import type { Backend } from "../routes/call.js";
import { readQuery, writeResponse } from "./messages.js";
import { serverSideDiff } from "./server-side-diff.js";

/** gRPC's code for an unknown method. */
const UNIMPLEMENTED = 12;
const METHOD = "/application.ApplicationService/ServerSideDiff";

export function isGrpcWeb(request: Request): boolean {
  return request.method === "POST" && (request.get("content-type") ?? "").startsWith("application/grpc-web");
}

/** Answers a call over gRPC-Web, and returns the answer. https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md */
export async function answerGrpc(
  backend: Backend,
  request: Request,
  response: Response,
  path: string,
): Promise<Buffer> {
  response.status(200).set("Content-Type", "application/grpc-web+proto");
  try {
    const { accounts } = backend.world;
    const account = accounts.authenticate(`Bearer ${request.get("token") ?? ""}`);
    if (path !== METHOD || !hasServerSideDiff(backend.world.options.version)) {
      const unknown = `unknown method ${path.split("/").at(-1) ?? ""} for service application.ApplicationService`;
      return refuse(response, UNIMPLEMENTED, unknown);
    }
    const frame = request.body as Buffer;
    if (frame.length < 5 || frame[0] !== 0 || frame.readUInt32BE(1) !== frame.length - 5) {
      backend.report(`a frame of ${path} is not whole`);
    }
    const answer = await serverSideDiff({ ...backend, account }, readQuery(frame.subarray(5)));
    const bytes = Buffer.concat([framed(0, writeResponse(answer)), framed(0x80, Buffer.from("grpc-status: 0\r\n"))]);
    response.end(bytes);
    return bytes;
  } catch (error) {
    if (error instanceof ApiError) return refuse(response, error.code, error.message);
    backend.report(`the sandbox failed: ${path}: ${String(error)}`);
    return refuse(response, codes.internal, String(error));
  }
}

/** A refused call has no body. */
function refuse(response: Response, code: number, message: string): Buffer {
  response.set({ "Grpc-Status": String(code), "Grpc-Message": encoded(message) });
  response.end();
  return Buffer.alloc(0);
}

/** Everything but printable ASCII, and the percent sign, as gRPC writes it into a header. */
function encoded(message: string): string {
  return message.replace(/[^\x20-\x24\x26-\x7e]/gu, (character) => encodeURIComponent(character));
}

function framed(flag: number, content: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag);
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
}

function hasServerSideDiff(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  return major > 3 || (major === 3 && minor >= 2);
}
