import { afterEach, describe, expect, test } from "@jest/globals";
import type {
  Delivery,
  DeliveryOutcome,
  Outbox,
  OutboxOptions,
  OutgoingMessage,
} from "../../src/core/ports/notifications.js";

/** What the receiver answers to one attempt. */
type Answer = Delivery | Promise<Delivery>;

export const TAKEN: Delivery = { kind: "delivered" };
export const NOT_FOUND = { kind: "failed", problem: "answered 404", retryAfterMs: undefined } as const;

export function message(id: string, receiver = "chat"): OutgoingMessage {
  return { receiver, id, body: `body of ${id}` };
}

/** A receiver that answers as it is told, and everything that reached it. */
export class Receiver {
  readonly attempts: OutgoingMessage[] = [];
  readonly outcomes: string[] = [];
  #answers: Answer[] = [];
  #waiting: (() => void)[] = [];

  /** The answers to the next attempts; after them everything is taken. */
  answer(...answers: Answer[]): void {
    this.#answers = answers;
  }

  readonly deliver: OutboxOptions["deliver"] = async (sent, signal) => {
    this.attempts.push(sent);
    this.#wake();
    const stopped = new Promise<Delivery>((resolve) => {
      signal.addEventListener("abort", () => resolve({ ...NOT_FOUND, problem: "stopped" }), { once: true });
    });
    return Promise.race([this.#answers.shift() ?? TAKEN, stopped]);
  };

  readonly onAttempt = (receiver: string, outcome: DeliveryOutcome): void => {
    this.outcomes.push(`${receiver} ${outcome}`);
    this.#wake();
  };

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** Starts an outbox with the receivers `chat` and `other`, and short pauses before two further attempts. */
export type StartOutbox = (receiver: Pick<Receiver, "deliver" | "onAttempt">) => Outbox;

/** What every outbox must do. */
export function outboxContract(name: string, start: StartOutbox): void {
  describe(`outbox: ${name}`, () => {
    const started: Outbox[] = [];
    afterEach(async () => {
      for (const outbox of started.splice(0)) await outbox.close(0);
    });
    const begin = () => {
      const receiver = new Receiver();
      const outbox = start(receiver);
      started.push(outbox);
      return { receiver, outbox };
    };

    test("a message is delivered once to each receiver, however often it is added", async () => {
      const { receiver, outbox } = begin();
      await Promise.all([outbox.add([message("a"), message("a", "other")]), outbox.add([message("a")])]);
      await receiver.until(() => receiver.outcomes.length === 2);
      await outbox.add([message("a"), message("b")]);
      await receiver.until(() => receiver.outcomes.length === 3);
      expect([...receiver.outcomes].sort()).toEqual(["chat delivered", "chat delivered", "other delivered"]);
      expect(receiver.attempts.map(({ id, receiver: to }) => `${to} ${id}`).sort()).toEqual([
        "chat a",
        "chat b",
        "other a",
      ]);
      expect(receiver.attempts[0]?.body).toBe("body of a");
    });

    test("a message that is not taken is tried again until it is; meanwhile the receiver counts as broken", async () => {
      const { receiver, outbox } = begin();
      receiver.answer(NOT_FOUND, { ...NOT_FOUND, problem: "answered 500", retryAfterMs: 1 });
      await outbox.add([message("a")]);
      await receiver.until(() => receiver.outcomes.length === 3);
      expect(receiver.outcomes).toEqual(["chat failed", "chat failed", "chat delivered"]);
      expect(receiver.attempts.map(({ id }) => id)).toEqual(["a", "a", "a"]);
    });

    test("after the last pause a message is given up, and its cause stays known until something is taken", async () => {
      const { receiver, outbox } = begin();
      receiver.answer(NOT_FOUND, NOT_FOUND, NOT_FOUND);
      await outbox.add([message("a")]);
      await receiver.until(() => receiver.outcomes.length === 3);
      expect(receiver.outcomes).toEqual(["chat failed", "chat failed", "chat given-up"]);
      const [chat, other] = await outbox.states();
      expect(chat?.broken).toEqual({ problem: "answered 404", since: expect.stringMatching(/^\d{4}-.*Z$/) });
      expect(other).toEqual({ receiver: "other", waiting: 0, broken: undefined });
      await outbox.add([message("a"), message("b")]);
      await receiver.until(() => receiver.outcomes.length === 4);
      expect(receiver.attempts.at(-1)?.id).toBe("b");
      expect((await outbox.states())[0]?.broken).toBeUndefined();
    });

    test("a receiver that does not answer delays no other one, and its messages are counted", async () => {
      const { receiver, outbox } = begin();
      receiver.answer(new Promise<Delivery>(() => undefined));
      await outbox.add([message("a"), message("b")]);
      await receiver.until(() => receiver.attempts.length === 1);
      await outbox.add([message("c", "other")]);
      await receiver.until(() => receiver.outcomes.length === 1);
      expect(receiver.outcomes).toEqual(["other delivered"]);
      expect((await outbox.states())[0]).toEqual({ receiver: "chat", waiting: 2, broken: undefined });
    });
  });
}
