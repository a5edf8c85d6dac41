import { createRequire } from "node:module";

type Payload = Record<string, unknown>;

const events = createRequire(import.meta.url)("@octokit/webhooks-examples") as readonly {
  readonly name: string;
  readonly examples: readonly Payload[];
}[];

/** One of GitHub's published examples, by event and position in that list (version 7.6.1). */
export function example(event: string, position: number): Payload {
  const found = events.find(({ name }) => name === event)?.examples[position];
  if (found === undefined) throw new Error(`no example ${position} of ${event}`);
  return structuredClone(found);
}

/** The same payload with other members, objects merged in depth. The published examples lack some of the cases. */
export function derive(payload: Payload, changes: Payload): Payload {
  const derived: Payload = { ...payload };
  for (const [key, value] of Object.entries(changes)) {
    const before = derived[key];
    derived[key] = isPlain(before) && isPlain(value) ? derive(before, value) : value;
  }
  return derived;
}

function isPlain(value: unknown): value is Payload {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const OPENED = 13;
export const SYNCHRONIZE = 22;
export const CLOSED = 3;
export const REOPENED = 18;
export const READY_FOR_REVIEW = 16;
export const CONVERTED_TO_DRAFT = 6;

/** The published examples have no comment on a pull request. */
export function commentOnPullRequest(changes: Payload = {}): Payload {
  const onIssue = example("issue_comment", 3);
  return derive(derive(onIssue, { issue: { pull_request: { url: "https://api.github.com/x" } } }), changes);
}
