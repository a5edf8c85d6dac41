import { createHmac, randomUUID } from "node:crypto";

export interface Receiver {
  readonly url: string;
  /** Sent in `X-Gitlab-Token`. */
  readonly secret: string;
  /** `whsec_…`; if set, deliveries are signed too. */
  readonly signingToken?: string;
}

export interface Delivery {
  /** Value of `X-Gitlab-Event`. */
  readonly event: string;
  /** Value of `Idempotency-Key`. */
  readonly id: string;
  /** 0 if no answer came. */
  readonly status: number;
  readonly body: string;
}

export type HookHeaders = Readonly<Record<string, string>>;

/** GitLab's timeout is ten seconds (https://docs.gitlab.com/user/project/integrations/webhooks/). */
const timeLimitMs = 10_000;

/** Sends webhooks to the connected receiver one at a time and records the answers. */
export class HookSender {
  readonly deliveries: Delivery[] = [];
  readonly #sent = new Map<string, { readonly event: string; readonly body: string; readonly chain: string }>();
  #receiver: Receiver | undefined;
  #instance = "";
  #tail: Promise<void> = Promise.resolve();

  connect(receiver: Receiver, instance: string): void {
    this.#receiver = receiver;
    this.#instance = instance;
  }

  /** Queues a webhook. Sends nothing without a receiver. */
  send(event: string, body: unknown): void {
    if (this.#receiver === undefined) return;
    const id = randomUUID();
    this.#sent.set(id, { event, body: JSON.stringify(body), chain: randomUUID() });
    this.#queue(id);
  }

  /** Work in the background, which may queue webhooks: nothing is idle before it ends. It must not fail. */
  during(work: Promise<void>): void {
    this.#tail = this.#tail.then(() => work);
  }

  /** Resolves once everything queued so far has been answered or has failed. */
  answered(): Promise<void> {
    return this.#tail;
  }

  /** Resolves once the queue is empty. */
  async idle(): Promise<void> {
    let waited: Promise<void> | undefined;
    while (waited !== this.#tail) {
      waited = this.#tail;
      await waited;
    }
  }

  /** Sends the same body and `Idempotency-Key` again, like the button "Resend Request". */
  async redeliver(id: string): Promise<void> {
    if (!this.#sent.has(id)) throw new Error(`There was no delivery ${id}`);
    this.#queue(id);
    await this.#tail;
  }

  #queue(id: string): void {
    this.#tail = this.#tail.then(() => this.#deliver(id));
  }

  async #deliver(id: string): Promise<void> {
    const sent = this.#sent.get(id);
    const receiver = this.#receiver;
    if (sent === undefined || receiver === undefined) return;
    const { event, body } = sent;
    const headers: HookHeaders = {
      "content-type": "application/json",
      "user-agent": "GitLab/19.1.0",
      "x-gitlab-instance": this.#instance,
      "x-gitlab-event": event,
      "x-gitlab-webhook-uuid": randomUUID(),
      "x-gitlab-event-uuid": sent.chain,
      "idempotency-key": id,
      "x-gitlab-token": receiver.secret,
      ...(receiver.signingToken === undefined ? {} : signature(receiver.signingToken, id, new Date(), body)),
    };
    const signal = AbortSignal.timeout(timeLimitMs);
    try {
      const answer = await fetch(receiver.url, { method: "POST", headers, body, signal, redirect: "manual" });
      this.deliveries.push({ event, id, status: answer.status, body: await answer.text() });
    } catch (error) {
      this.deliveries.push({ event, id, status: 0, body: error instanceof Error ? error.message : "no answer" });
    }
  }
}

/** Headers of the Standard Webhooks scheme (https://github.com/standard-webhooks/standard-webhooks). */
export function signature(signingToken: string, id: string, at: Date, body: string): HookHeaders {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const key = Buffer.from(signingToken.replace(/^whsec_/, ""), "base64");
  const digest = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${digest}` };
}
