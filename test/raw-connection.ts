import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface RawAnswer {
  readonly status: number;
  /** Status line and headers, in lower case. */
  readonly head: string;
  readonly body: string;
}

/** One connection to an HTTP server, byte by byte: sends what clients of Node.js would not send. */
export class RawConnection {
  readonly closed: Promise<unknown>;
  #received = "";
  #closed = false;

  private constructor(private readonly socket: Socket) {
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => (this.#received += text));
    socket.on("error", () => undefined); // a reset closes it as well
    this.closed = once(socket, "close").then(() => (this.#closed = true));
  }

  static async open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    return new RawConnection(socket);
  }

  /** Starts a POST request; its body follows with `write`. */
  post(path: string, headers: Readonly<Record<string, string | number | undefined>>): void {
    const lines = Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}: ${value}\r\n`],
    );
    this.write(`POST ${path} HTTP/1.1\r\nhost: x\r\n${lines.join("")}\r\n`);
  }

  write(bytes: string | Buffer): void {
    this.socket.write(bytes);
  }

  /** Reads nothing until an answer is asked for, as clients do that send their whole request first. */
  stopReading(): void {
    this.socket.pause();
  }

  /** The next answer. Rejects if the connection is closed before its end. */
  async answer(): Promise<RawAnswer> {
    this.socket.resume();
    for (;;) {
      const [, head = "", rest] = /^([^]*?)\r\n\r\n([^]*)$/.exec(this.#received) ?? [];
      const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
      if (rest !== undefined && rest.length >= length) {
        this.#received = rest.slice(length);
        const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]);
        return { status, head: head.toLowerCase(), body: rest.slice(0, length) };
      }
      if (this.#closed) throw new Error(`the connection was closed after ${JSON.stringify(this.#received)}`);
      await Promise.race([once(this.socket, "data"), this.closed]);
    }
  }

  close(): void {
    this.socket.destroy();
  }
}
