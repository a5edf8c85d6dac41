import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** What happens to the bytes between two sides. */
export interface Weather {
  /** Milliseconds that each piece waits on its way. */
  readonly delayMs: number;
  /** New connections are refused. */
  readonly closed: boolean;
}

const FAIR: Weather = { delayMs: 0, closed: false };
/** As much of a piece as is looked at: a request's first line stands at its beginning, that of a query behind its headers. */
const LOOKED_AT = 2_000;

/** Waits for a piece from the client and acts at that very moment, once. */
export interface Ambush {
  /** Tested against the beginning of the piece. */
  readonly on: RegExp;
  /** Told of the piece; false: it is lost. */
  readonly act: (piece: string) => boolean;
}

/** A TCP proxy on loopback that can be slow, cut, reset, and that forgets what a dead client had on the way. */
export class TcpProxy {
  weather: Weather = FAIR;
  readonly ambushes = new Set<Ambush>();
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #server: Server;

  private constructor(private readonly targetPort: number) {
    this.#server = createServer((client) => this.#join(client));
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Ends every connection at once; what is on its way is lost. `reset`: with RST instead of FIN. */
  cut(reset = false): void {
    for (const pair of this.#pairs) {
      for (const socket of pair) {
        if (reset) socket.resetAndDestroy();
        else socket.destroy();
      }
    }
  }

  clear(): void {
    this.weather = FAIR;
  }

  async stop(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(client: Socket): void {
    if (this.weather.closed) {
      client.resetAndDestroy();
      return;
    }
    const target = connect(this.targetPort, "127.0.0.1");
    const pair = [client, target] as const;
    this.#pairs.add(pair);
    for (const [from, to] of [pair, [target, client] as const]) {
      const way = new Way();
      const later = (act: () => void) => way.pass(act, this.weather.delayMs);
      from.setNoDelay(true);
      from.on("data", (chunk: Buffer) => {
        if (from === client && !this.#mayPass(chunk)) return;
        later(() => {
          if (!to.destroyed) to.write(chunk);
        });
      });
      from.once("end", () => later(() => to.end()));
      from.on("error", () => undefined); // its close tells
      from.once("close", () => {
        // A client that is gone takes with it what it sent and what has not arrived.
        to.destroy();
        this.#pairs.delete(pair);
      });
    }
  }

  #mayPass(chunk: Buffer): boolean {
    const piece = chunk.toString("latin1", 0, LOOKED_AT);
    const ambush = [...this.ambushes].find(({ on }) => on.test(piece));
    if (ambush === undefined) return true;
    this.ambushes.delete(ambush);
    return ambush.act(piece);
  }
}

/** One direction of a connection. What is on its way arrives in order, also when the way gets shorter meanwhile. */
class Way {
  readonly #waiting: { readonly act: () => void; readonly dueAt: number }[] = [];

  pass(act: () => void, delayMs: number): void {
    if (delayMs === 0 && this.#waiting.length === 0) {
      act();
      return;
    }
    this.#waiting.push({ act, dueAt: performance.now() + delayMs });
    if (this.#waiting.length === 1) this.#awaitFirst();
  }

  #awaitFirst(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    setTimeout(() => {
      first.act();
      this.#waiting.shift();
      this.#awaitFirst();
    }, first.dueAt - performance.now());
  }
}
