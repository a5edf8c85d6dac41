import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { SignedEvent } from "./signed-events.js";

export interface Sent {
  /** From the first request to the last answer. */
  readonly seconds: number;
  /** Milliseconds of each request, sorted. */
  readonly latencies: readonly number[];
}

const CONNECTIONS = 32;

/** Sends events as fast as the receiver takes them. @throws {Error} for an answer other than "accepted". */
export async function sendAll(url: string, events: readonly SignedEvent[]): Promise<Sent> {
  const requests = events.map((event) => requestOf(url, event));
  const connections = await connectAll(url);
  const started = performance.now();
  const latencies: number[] = [];
  let next = 0;
  const work = async (connection: Connection) => {
    for (let request = requests[next++]; request !== undefined; request = requests[next++]) {
      const begun = performance.now();
      await connection.send(request);
      latencies.push(performance.now() - begun);
    }
  };
  await Promise.all(connections.map(work));
  const seconds = (performance.now() - started) / 1000;
  for (const connection of connections) connection.close();
  return { seconds, latencies: latencies.sort((left, right) => left - right) };
}

/**
 * Sends events at a fixed rate, whether or not the receiver keeps up. A request that is late because all connections
 * are busy is timed from when it was due.
 */
export async function sendAtRate(url: string, events: readonly SignedEvent[], perSecond: number): Promise<Sent> {
  // Created in advance: creating them, and their garbage collection, would count as the receiver's time.
  const requests = events.map((event) => requestOf(url, event));
  const connections = await connectAll(url);
  const started = performance.now();
  const latencies: number[] = [];
  let next = 0;
  const work = async (connection: Connection) => {
    for (
      let index = next++, request = requests[index];
      request !== undefined;
      index = next++, request = requests[index]
    ) {
      const due = started + (index * 1000) / perSecond;
      if (due > performance.now()) await delay(due - performance.now());
      await connection.send(request);
      latencies.push(performance.now() - due);
    }
  };
  await Promise.all(connections.map(work));
  const seconds = (performance.now() - started) / 1000;
  for (const connection of connections) connection.close();
  return { seconds, latencies: latencies.sort((left, right) => left - right) };
}

function connectAll(url: string): Promise<readonly Connection[]> {
  return Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(url)));
}

/** The whole request as bytes: an HTTP client would use as much CPU as the receiver. */
function requestOf(url: string, { headers, body }: SignedEvent): Buffer {
  const { host, pathname } = new URL(url);
  const lines = Object.entries({ host, ...headers, "content-length": body.length });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return Buffer.concat([Buffer.from(`POST ${pathname} HTTP/1.1\r\n${head}\r\n`), body]);
}

interface Awaited {
  resolve(answer: string): void;
  reject(error: Error): void;
}

/** A keep-alive connection with one request at a time. */
class Connection {
  #answer = "";
  #awaited: Awaited | undefined;

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true).setEncoding("latin1");
    socket.on("data", (text: string) => this.#take(text));
    socket.once("close", () => this.#awaited?.reject(new Error("the receiver closed the connection")));
  }

  static async open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    return new Connection(socket);
  }

  /** @throws {Error} for an answer other than "accepted". */
  async send(request: Buffer): Promise<void> {
    const answered = new Promise<string>((resolve, reject) => {
      this.#awaited = { resolve, reject };
    });
    this.socket.write(request);
    const answer = await answered;
    if (!answer.startsWith("HTTP/1.1 200 ") || !answer.includes('"accepted"')) throw new Error(answer);
  }

  close(): void {
    this.#awaited = undefined;
    this.socket.destroy();
  }

  #take(text: string): void {
    this.#answer += text;
    const end = this.#answer.indexOf("\r\n\r\n");
    const length = Number(/\r\ncontent-length: (\d+)\r\n/i.exec(this.#answer)?.[1] ?? Number.NaN);
    if (end < 0 || !(this.#answer.length >= end + 4 + length)) return;
    const answer = this.#answer;
    this.#answer = "";
    this.#awaited?.resolve(answer);
  }
}

/** A quantile of sorted numbers: 0.99 for the 99th percentile. */
export function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}
