import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { deliveryId } from "../../src/hosts/host-answer.js";
import type { HostId } from "../../src/names.js";
import type { Replica } from "./replica.js";

/** One webhook and what became of it. */
export interface Passed {
  readonly host: HostId;
  /** The delivery's id as the service knows it. */
  readonly delivery: string;
  readonly payload: unknown;
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly until: number;
  readonly status: number;
  readonly answer: string;
}

/**
 * What stands before the replicas, as an ingress does: a webhook goes to one that is up, and to the next one when the
 * connection breaks before an answer. With nobody left it answers 503.
 */
export class Entrance {
  readonly passed: Passed[] = [];
  readonly #server: Server;
  #turn = 0;

  private constructor(private readonly replicas: readonly Replica[]) {
    this.#server = createServer((incoming, response) => {
      this.#pass(incoming).then(
        ({ status, body }) => response.writeHead(status, { "content-type": "application/json" }).end(body),
        // A host that gives up while it sends.
        () => response.destroy(),
      );
    });
  }

  static async start(replicas: readonly Replica[]): Promise<Entrance> {
    const entrance = new Entrance(replicas);
    entrance.#server.listen(0, "127.0.0.1");
    await once(entrance.#server, "listening");
    return entrance;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #pass(incoming: IncomingMessage): Promise<Answer> {
    const from = Date.now();
    const body = Buffer.concat((await incoming.toArray()) as Buffer[]);
    const { status, body: answer } = await this.#send(incoming, body);
    const host = incoming.url?.endsWith("/hosta") === true ? "hosta" : "hostb";
    const id = incoming.headers[host === "hosta" ? "x-github-delivery" : "idempotency-key"];
    const payload: unknown = JSON.parse(body.toString());
    this.passed.push({ host, delivery: deliveryId(host, id, body), payload, from, until: Date.now(), status, answer });
    return { status, body: answer };
  }

  async #send(incoming: IncomingMessage, body: Buffer): Promise<Answer> {
    this.#turn += 1;
    for (let tried = 0; tried < this.replicas.length; tried += 1) {
      const url = this.replicas[(this.#turn + tried) % this.replicas.length]?.url;
      const answer = url === undefined ? undefined : await post(`${url}${incoming.url ?? ""}`, incoming, body);
      if (answer !== undefined && answer.status !== 503) return answer;
    }
    return { status: 503, body: '{"error":"no replica answers"}' };
  }
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Undefined when the connection breaks before the whole answer is there. */
function post(url: string, { headers }: IncomingMessage, body: Buffer): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const sent = request(url, { method: "POST", headers: { ...headers, connection: "close" } }, (answer) => {
      answer.toArray().then(
        (chunks) => resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks as Buffer[]).toString() }),
        () => resolve(undefined),
      );
    });
    sent.on("error", () => resolve(undefined));
    sent.end(body);
  });
}
