import type { IncomingHttpHeaders, RequestListener } from "node:http";
import { localServer, type LocalServer } from "../local-server.js";

export interface ReceivedMessage {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The bytes as text. */
  readonly body: string;
}

/** A chat or a program that receives notifications over real HTTP. */
export class HookReceiver {
  readonly messages: ReceivedMessage[] = [];
  #server: LocalServer | undefined;
  #waiting: (() => void)[] = [];

  /** @param answer What it answers; 200 when absent. */
  static async start(answer: RequestListener = (_request, response) => response.end("ok")): Promise<HookReceiver> {
    const receiver = new HookReceiver();
    receiver.#server = await localServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const { url: path = "", headers } = request;
        receiver.messages.push({ path, headers, body: Buffer.concat(chunks).toString() });
        answer(request, response);
        for (const wake of receiver.#waiting.splice(0)) wake();
      });
    });
    return receiver;
  }

  get url(): string {
    return this.#server?.url ?? "";
  }

  /** Until so many messages have come. */
  async until(count: number): Promise<void> {
    while (this.messages.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Those that came on this path, parsed. */
  on(path: string): readonly unknown[] {
    return this.messages.filter((one) => one.path === path).map(({ body }): unknown => JSON.parse(body));
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }
}
