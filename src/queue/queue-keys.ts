import { QUEUE_KEY_PREFIX } from "../names.js";

/** Change requests with work. */
export const LANES_KEY = `${QUEUE_KEY_PREFIX}:lanes`;

/** A change request's keys: its events in order, what is known of it, and the lease of its running event. */
export function laneKeys(change: string) {
  return {
    events: `${QUEUE_KEY_PREFIX}:events:${change}`,
    state: `${QUEUE_KEY_PREFIX}:state:${change}`,
    lease: `${QUEUE_KEY_PREFIX}:lease:${change}`,
  } as const;
}

/** What became of an event, by one of its names. */
export function nameKey(id: string): string {
  return `${QUEUE_KEY_PREFIX}:delivery:${id}`;
}

/** The notes of a run, by the delivery that began it. */
export function journalKey(delivery: string): string {
  return `${QUEUE_KEY_PREFIX}:journal:${delivery}`;
}

/** Taken by the replica whose turn it is to do what all need once. */
export function turnKey(work: string): string {
  return `${QUEUE_KEY_PREFIX}:turn:${work}`;
}
