import { once } from "node:events";
import { connect, type Socket } from "node:net";

const PIECE = Buffer.alloc(64 * 1024, " ");
/** Chunks of one byte, each of which the receiver has to hold by itself. */
const TINY = Buffer.from("1\r\n \r\n".repeat(10_000));

export interface LargeBodies {
  readonly connections: number;
  /** Bytes that each connection sends as far as it can. */
  readonly bytes: number;
  /** Announces no length, and sends chunks of one byte. */
  readonly tiny?: boolean;
  /** Of every request; `X-Forwarded-For` gives each connection an address of its own where the proxy is trusted. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Posts large bodies over many connections at once, as an outsider would. Returns how often each status was answered;
 * 0 stands for connections that were closed without an answer.
 */
export async function sendLargeBodies(
  url: string,
  { connections, bytes, headers, tiny = false }: LargeBodies,
): Promise<ReadonlyMap<number, number>> {
  const { hostname, port, pathname } = new URL(url);
  const fixed = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const send = async (index: number): Promise<number> => {
    const socket = connect(Number(port), hostname);
    const status = statusOf(socket);
    const length = tiny ? "transfer-encoding: chunked" : `content-length: ${bytes}`;
    const sender = `x-forwarded-for: 203.0.113.${index % 256}\r\n${length}\r\n`;
    socket.write(`POST ${pathname} HTTP/1.1\r\nhost: svc\r\n${fixed.join("")}${sender}\r\n`);
    const piece = tiny ? TINY : PIECE;
    for (let left = bytes; left > 0 && socket.writable; left -= piece.length) {
      if (!socket.write(piece.subarray(0, left))) await Promise.race([once(socket, "drain"), status]).catch(() => 0);
    }
    return status;
  };
  const statuses = await Promise.all(Array.from({ length: connections }, (_, index) => send(index)));
  return new Map([...new Set(statuses)].sort().map((one) => [one, statuses.filter((status) => status === one).length]));
}

/** The status of the answer, once the connection is closed by the other side. */
function statusOf(socket: Socket): Promise<number> {
  let text = "";
  socket.setEncoding("latin1");
  socket.on("error", () => undefined); // reset while it was still writing
  return new Promise((resolve) => {
    socket.on("data", (part: string) => (text += part));
    socket.once("close", () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)));
  });
}
