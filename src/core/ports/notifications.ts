import type { Notification } from "../model/notification.js";
import type { Clock } from "./clock.js";
import type { Log } from "./log.js";

/** Sends messages to the receivers in the server's file. */
export interface Notifications {
  /** Queues a message for each receiver that wants to know, once. Never rejects, and waits half a second at most. */
  publish(notification: Notification): Promise<void>;
}

export interface OutgoingMessage {
  readonly receiver: string;
  /** The outbox takes each id once per receiver, for a week at least. Letters, digits, dashes and underscores. */
  readonly id: string;
  /** The bytes to post, as text. */
  readonly body: string;
}

/** How one attempt to deliver a message ended. */
export type Delivery =
  | { readonly kind: "delivered" }
  | {
      readonly kind: "failed";
      /** A few words without secrets, the same for the same cause. */
      readonly problem: string;
      /** The receiver asked for a pause, in milliseconds. */
      readonly retryAfterMs: number | undefined;
    };

/** How an attempt ended for the message: after `given-up` it is not tried again. */
export type DeliveryOutcome = "delivered" | "failed" | "given-up";

export interface ReceiverState {
  readonly receiver: string;
  readonly waiting: number;
  /** Why the newest attempt failed, and since when each has; undefined if it did not. */
  readonly broken: { readonly problem: string; readonly since: string } | undefined;
}

/** Keeps messages until they are delivered; one receiver never delays another. */
export interface Outbox {
  /** Never rejects. While the store is unavailable the messages stay in this process until it answers. */
  add(messages: readonly OutgoingMessage[]): Promise<void>;
  /** The state of every receiver. @throws {StoreUnavailable} */
  states(): Promise<readonly ReceiverState[]>;
  /** Takes no more messages, waits up to `graceMs` for those that are being delivered, then stops them. */
  close(graceMs: number): Promise<void>;
}

export interface OutboxOptions {
  readonly receivers: readonly string[];
  /** One attempt; never rejects. */
  readonly deliver: (message: OutgoingMessage, signal: AbortSignal) => Promise<Delivery>;
  readonly onAttempt: (receiver: string, outcome: DeliveryOutcome, delivery: Delivery) => void;
  /** Pauses before each further attempt, in milliseconds. After the last one, svc gives up delivering the message. */
  readonly retryAfterMs: readonly number[];
  readonly clock: Clock;
  readonly log: Log;
}

/** A receiver cannot ask for a longer pause, in milliseconds. */
const LONGEST_ASKED_MS = 60 * 60_000;

/** What an attempt means for its message, and the pause before the next one. @param attempts How many there were, this one included. */
export function afterAttempt(
  attempts: number,
  delivery: Delivery,
  pauses: readonly number[],
): { readonly outcome: DeliveryOutcome; readonly pause: number | undefined } {
  const planned = pauses[attempts - 1];
  if (delivery.kind === "delivered") return { outcome: "delivered", pause: undefined };
  if (planned === undefined) return { outcome: "given-up", pause: undefined };
  return { outcome: "failed", pause: Math.max(planned, Math.min(delivery.retryAfterMs ?? 0, LONGEST_ASKED_MS)) };
}

/** The state of a receiver after an attempt. `since` is the time of the first failure in a row. */
export function brokenAfter(delivery: Delivery, before: ReceiverState["broken"], now: Date): ReceiverState["broken"] {
  if (delivery.kind === "delivered") return undefined;
  return { problem: delivery.problem, since: before?.since ?? now.toISOString() };
}
