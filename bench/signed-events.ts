import { createHmac, randomUUID } from "node:crypto";
import { createRequire } from "node:module";

/** A webhook as GitHub sends it. */
export interface SignedEvent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface Example {
  readonly name: string;
  readonly examples: readonly Readonly<Record<string, unknown>>[];
}

/** Comments on many pull requests, about 10 kB each, every one a delivery of its own; signed beforehand. */
export function commentEvents(count: number, secret: string, pullRequests: number): readonly SignedEvent[] {
  const example = commentExample();
  return Array.from({ length: count }, (_, index) => {
    const body = Buffer.from(
      JSON.stringify({
        ...example,
        issue: { ...(example.issue as object), number: 1 + (index % pullRequests), pull_request: {} },
        comment: { ...(example.comment as object), id: 1_000_000 + index, body: "svc help" },
      }),
    );
    return {
      body,
      headers: {
        "content-type": "application/json",
        "x-github-event": "issue_comment",
        "x-github-delivery": randomUUID(),
        "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
      },
    };
  });
}

function commentExample(): Readonly<Record<string, unknown>> {
  const all = createRequire(import.meta.url)("@octokit/webhooks-examples") as readonly Example[];
  const found = all.find(({ name }) => name === "issue_comment")?.examples.find(({ action }) => action === "created");
  if (found === undefined) throw new Error("the examples hold no comment");
  return found;
}
