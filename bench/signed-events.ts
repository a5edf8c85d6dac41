import { createHmac, randomBytes, randomUUID } from "node:crypto";
import type { HostId } from "../src/names.js";
import { commentOnPullRequest, derive, example, SYNCHRONIZE } from "../test/hosts/github-samples.js";
import { sample } from "../test/hosts/gitlab-samples.js";

/** A signed webhook. */
export interface SignedEvent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** The secret of GitHub's webhook. */
export const WEBHOOK_SECRET = "bench-webhook-secret";
const SIGNING_KEY = randomBytes(32);
/** The signing token of GitLab's webhook. */
export const SIGNING_TOKEN = `whsec_${SIGNING_KEY.toString("base64")}`;

/** A kind of event. Each event differs in the change request's number and an id. */
interface Kind {
  readonly name: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly changes: (number: number, id: number) => Record<string, unknown>;
}

/** GitHub's published examples with an installation: comments (14 kB), pushes (24 kB) and reviews (23 kB). */
const GITHUB: readonly Kind[] = [
  {
    name: "issue_comment",
    payload: commentOnPullRequest({ comment: { body: "svc help" } }),
    changes: (number, id) => ({ ...INSTALLATION, issue: { number }, comment: { id } }),
  },
  {
    name: "pull_request",
    payload: example("pull_request", SYNCHRONIZE),
    changes: (number) => ({ ...INSTALLATION, pull_request: { number } }),
  },
  {
    name: "pull_request_review",
    payload: example("pull_request_review", 0),
    changes: (number) => ({ ...INSTALLATION, pull_request: { number } }),
  },
];
const INSTALLATION = { installation: { id: 5, node_id: "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uNQ==" } };

/** From GitLab's documentation, about 5 kB each. */
const GITLAB: readonly Kind[] = [
  {
    name: "Note Hook",
    payload: sample("note.on-mr.create", { object_attributes: { note: "svc help" } }),
    changes: (iid, id) => ({ merge_request: { iid }, object_attributes: { id } }),
  },
  {
    name: "Merge Request Hook",
    payload: sample("merge_request.update.oldrev"),
    changes: (iid) => ({ object_attributes: { iid } }),
  },
  {
    name: "Merge Request Hook",
    payload: sample("merge_request.approved"),
    changes: (iid) => ({ object_attributes: { iid } }),
  },
];

let lastId = 1_000_000;

/** Comments, pushes and reviews in turn, spread over change requests, each a separate delivery signed in advance. */
export function signedEvents(host: HostId, count: number, changeRequests: number): readonly SignedEvent[] {
  const kinds = host === "hosta" ? GITHUB : GITLAB;
  return Array.from({ length: Math.ceil(count / kinds.length) }, (_, index) =>
    kinds.map(({ name, payload, changes }) => {
      lastId += 1;
      const body = Buffer.from(JSON.stringify(derive(payload, changes(1 + (index % changeRequests), lastId))));
      return { body, headers: { "content-type": "application/json", ...headersOf(host, name, body) } };
    }),
  ).flat();
}

/** Adds GitHub's kind of signature, which the bare route verifies, to every event. */
function headersOf(host: HostId, name: string, body: Buffer): Readonly<Record<string, string>> {
  const signature = `sha256=${createHmac("sha256", WEBHOOK_SECRET).update(body).digest("hex")}`;
  const delivery = randomUUID();
  if (host === "hosta") {
    return { "x-github-event": name, "x-github-delivery": delivery, "x-hub-signature-256": signature };
  }
  const seconds = Math.floor(Date.now() / 1000);
  const signed = createHmac("sha256", SIGNING_KEY).update(`${delivery}.${seconds}.`).update(body).digest("base64");
  return {
    "x-gitlab-event": name,
    "webhook-id": delivery,
    "webhook-timestamp": String(seconds),
    "webhook-signature": `v1,${signed}`,
    "x-hub-signature-256": signature,
  };
}
