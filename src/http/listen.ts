import { once } from "node:events";
import type { Server } from "node:http";
import { ipKeyGenerator } from "express-rate-limit";

/** The program cannot listen on its address, or lacks a folder. The message is for the operator and names the setting. */
export class CannotStart extends Error {
  override readonly name = "CannotStart";
}

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** The setting or the option of the port. */
  readonly key: "server.port" | "server.metrics_port" | "--port";
}

/** Resolves when the server listens. @throws {CannotStart} */
export async function listen(server: Server, address: ListenAddress): Promise<void> {
  server.listen(address.port, address.host);
  try {
    await once(server, "listening");
  } catch (error) {
    throw new CannotStart(sentenceFor(codeOf(error), address), { cause: error });
  }
}

function sentenceFor(code: string, { host, port, key }: ListenAddress): string {
  const hostKey = key === "--port" ? "--host" : "server.host";
  switch (code) {
    case "EADDRINUSE":
      return `port ${port} is in use: another program, or another svc, listens on it; stop that, or set ${key} to a free port`;
    case "EACCES":
      return `this user may not listen on port ${port}: set ${key} to a port from 1024 on`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `this machine has no address ${host}: correct ${hostKey}`;
    default:
      return `cannot listen on port ${port} of ${host} (${code}): check ${hostKey} and ${key}`;
  }
}

function codeOf(error: unknown): string {
  const hasCode = typeof error === "object" && error !== null && "code" in error && typeof error.code === "string";
  return hasCode ? String(error.code) : "unknown reason";
}

/**
 * What limits count as one sender: an IPv4 address, or a /56 network of IPv6. The port that some proxies append in
 * `X-Forwarded-For` is dropped: with it, every connection would count as a sender of its own.
 * https://learn.microsoft.com/azure/application-gateway/how-application-gateway-works#modifications-to-the-request
 */
export function networkOf(address = ""): string {
  const [, v6, v4] = /^(?:\[([^\]]+)\]|([\d.]+)):\d+$/.exec(address) ?? [];
  return ipKeyGenerator(v6 ?? v4 ?? address);
}
