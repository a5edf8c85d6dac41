import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { HostEvent } from "../../src/core/model/event.js";
import { translateGitHubEvent } from "../../src/hosts/github/webhook.js";
import { signatureCheck, signingKey, translateGitLabEvent } from "../../src/hosts/gitlab/webhook.js";
import { deliveryId } from "../../src/hosts/host-answer.js";
import type { HostId } from "../../src/names.js";
import { commentOnPullRequest, example, OPENED, SYNCHRONIZE } from "../hosts/github-samples.js";
import { sample } from "../hosts/gitlab-samples.js";
import { fuzz } from "./fuzz.js";
import { hostileText } from "./hostile-text.js";

interface Authentic {
  readonly host: HostId;
  readonly name: string;
  readonly payload: unknown;
}

const AUTHENTIC: readonly Authentic[] = [
  { host: "hosta", name: "pull_request", payload: example("pull_request", OPENED) },
  { host: "hosta", name: "pull_request", payload: example("pull_request", SYNCHRONIZE) },
  {
    host: "hosta",
    name: "issue_comment",
    payload: commentOnPullRequest({ action: "created", comment: { body: "svc sync" } }),
  },
  { host: "hosta", name: "pull_request_review", payload: example("pull_request_review", 0) },
  ...[
    "merge_request.open",
    "merge_request.update.oldrev",
    "merge_request.close",
    "note.on-mr.create",
    "note.system",
  ].map((name): Authentic => ({ host: "hostb", name, payload: sample(name) })),
];

/** What programs of the other side never send: wrong types, names that are paths, numbers that are none. */
const wrong = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    undefined,
    true,
    0,
    -1,
    1.5,
    2 ** 60,
    Number.NaN,
    1e308,
    "",
    "../..",
    "a/..",
    "a/b/../c",
  ),
  fc.constantFrom<unknown>(
    "acme/deploy?x=1",
    "acme/deploy#1",
    "acme\\deploy",
    "acme//deploy",
    "%2e%2e/x",
    "a/b\n",
    [],
    {},
  ),
  fc.constantFrom<unknown>(
    "created",
    "opened",
    "open",
    "create",
    "edited",
    "merge",
    "MergeRequest",
    "bo[bot]",
    2n ** 70n,
  ),
  hostileText(8),
  fc.jsonValue(),
  fc.constantFrom("x".repeat(65_535) + "🚀", "svc sync\n".repeat(20_000)),
);

/** Members that the decoders read, so that the changes hit what matters. */
const member = fc.constantFrom(
  ...[
    "action",
    "repository",
    "full_name",
    "pull_request",
    "issue",
    "number",
    "comment",
    "body",
    "user",
    "login",
    "id",
    "type",
  ],
  ...[
    "changes",
    "base",
    "merged",
    "object_kind",
    "project",
    "path_with_namespace",
    "object_attributes",
    "iid",
    "oldrev",
  ],
  ...[
    "note",
    "noteable_type",
    "author_id",
    "system",
    "internal",
    "merge_request",
    "username",
    "draft",
    "position",
    "event_type",
  ],
);
const changes = fc.array(fc.tuple(member, wrong), { maxLength: 4 });
const input = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(fc.constantFrom(...AUTHENTIC), changes).map(([one, list]) => changed(one, list)) },
  {
    weight: 1,
    arbitrary: fc.record({
      host: fc.constantFrom<HostId>("hosta", "hostb"),
      name: fc.string(),
      payload: fc.jsonValue(),
    }),
  },
);
const headers = fc.dictionary(
  fc.constantFrom("webhook-id", "webhook-timestamp", "webhook-signature", "idempotency-key"),
  fc.oneof(hostileText(3), fc.constantFrom("v1,", `v1,${"A".repeat(43)}=`, "1772442847", "d-12345678")),
);
const KEY = signingKey(`whsec_${Buffer.alloc(32, 7).toString("base64")}`);
const SIGNED_AT = new Date("2026-03-02T09:14:07.000Z");

test("whatever a delivery holds, it is ignored with a reason or becomes one plain event of a sane change request", () => {
  fuzz("webhook-decoders", fc.tuple(input, headers), ([{ host, name, payload }, given]) => {
    const body = Buffer.from(JSON.stringify({ payload }, plain));
    const check = signatureCheck(given, KEY, SIGNED_AT);
    check?.update(body);
    expect(check?.passes() ?? false).toBe(false);
    const delivery = deliveryId(host, given["idempotency-key"], body);
    expect(delivery).toMatch(/^host[ab]-[A-Za-z0-9-]{8,100}$/);
    const event =
      host === "hosta" ? translateGitHubEvent(name, delivery, payload) : translateGitLabEvent(delivery, payload);
    if ("ignored" in event) expect(event.ignored).toMatch(/^[\w .,;:'()-]+$/);
    else if (event.kind === "branch-pushed") {
      expect(event).toMatchObject({ host, repository: expect.stringMatching(/^[^/\s]+(?:\/[^/\s]+)+$/) });
    } else expectSane(event, host, delivery);
  });
});

function expectSane(event: HostEvent, host: HostId, delivery: string): void {
  const { change } = event;
  expect(event.delivery).toBe(delivery);
  expect(change.host).toBe(host);
  expect(Number.isSafeInteger(change.number) && change.number > 0).toBe(true);
  expect(change.repository).toMatch(/^[^/\s?#%\\]+(?:\/[^/\s?#%\\]+)+$/);
  expect(change.repository.split("/").filter((part) => part === "." || part === "..")).toEqual([]);
  expect(JSON.parse(JSON.stringify(event))).toEqual(event);
  if (event.kind !== "commented") return;
  expect(event.body.length).toBeLessThanOrEqual(65_536);
  expect(event.author.login).not.toBe("");
  expect(event.author.id).toMatch(/^[1-9]\d*$/);
  expect(event.commentId).toMatch(/^[1-9]\d*$/);
  if (event.author.login.endsWith("[bot]") && host === "hosta") expect(event.author.bot).toBe(true);
}

/** The same delivery with each of these members changed wherever it stands. */
function changed(one: Authentic, list: readonly (readonly [string, unknown])[]): Authentic {
  const by = new Map(list);
  return { ...one, payload: withMembers(one.payload, by, 4) };
}

function withMembers(value: unknown, by: ReadonlyMap<string, unknown>, depth: number): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value) || depth === 0) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, by.has(key) ? by.get(key) : withMembers(inner, by, depth - 1)]),
  );
}

function plain(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}
