import { createHmac, randomUUID } from "node:crypto";
import type { JsonObject } from "./examples.js";

export interface Receiver {
  readonly url: string;
  readonly secret: string;
}

export interface Delivery {
  readonly event: string;
  readonly id: string;
  /** 0 if no answer came. */
  readonly status: number;
  readonly body: string;
}

interface Sent {
  readonly event: string;
  readonly text: string;
}

/** GitHub's timeout. */
const answerTimeoutMs = 10_000;

/** Sends signed webhooks one at a time and records the answers. Never retries. */
export class Deliveries {
  readonly answers: Delivery[] = [];
  readonly #sent = new Map<string, Sent>();
  readonly #stopping = new AbortController();
  #receiver: Receiver | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(readonly appId: number) {}

  connect(receiver: Receiver): void {
    this.#receiver = receiver;
  }

  /** Builds the payload now and sends it in turn. Resolves after the answer. */
  send(event: string, payload: () => JsonObject | Promise<JsonObject>): Promise<void> {
    const made = Promise.resolve(payload());
    made.catch(() => undefined); // the failure surfaces where `made` is awaited
    return this.#enqueue(async () => {
      if (this.#receiver === undefined) return;
      const id = randomUUID();
      const sent = { event, text: JSON.stringify(await made) };
      this.#sent.set(id, sent);
      await this.#post(this.#receiver, id, sent);
    });
  }

  /** Sends the same bytes under the same delivery id. */
  redeliver(id: string): Promise<void> {
    const sent = this.#sent.get(id);
    if (sent === undefined) throw new Error(`There was no delivery ${id}`);
    return this.#enqueue(async () => {
      if (this.#receiver !== undefined) await this.#post(this.#receiver, id, sent);
    });
  }

  /** Resolves once everything queued so far has been answered. */
  async idle(): Promise<void> {
    await this.#last;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#last;
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  async #post(receiver: Receiver, id: string, { event, text }: Sent): Promise<void> {
    const bytes = Buffer.from(text);
    const signature = createHmac("sha256", receiver.secret).update(bytes).digest("hex");
    let answer: Pick<Delivery, "status" | "body">;
    try {
      const response = await fetch(receiver.url, {
        method: "POST",
        redirect: "manual",
        body: bytes,
        headers: {
          "content-type": "application/json",
          "user-agent": "GitHub-Hookshot/0000000",
          "x-github-event": event,
          "x-github-delivery": id,
          "x-github-hook-id": "1000001",
          "x-github-hook-installation-target-id": String(this.appId),
          "x-github-hook-installation-target-type": "integration",
          "x-hub-signature-256": `sha256=${signature}`,
        },
        signal: AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(answerTimeoutMs)]),
      });
      answer = { status: response.status, body: await response.text() };
    } catch (error) {
      answer = { status: 0, body: String(error) };
    }
    this.answers.push({ event, id, ...answer });
  }
}
