import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import { NOTIFICATION_EVENTS } from "../../src/config/server/server-schema.js";
import type { NotificationReceiver } from "../../src/config/server/server.js";
import { applicationName, repositoryName, revision } from "../../src/core/model/brand.js";
import type { Notification } from "../../src/core/model/notification.js";
import { signatureCheck, signingKey } from "../../src/hosts/gitlab/webhook.js";
import {
  eventsOf,
  jsonBody,
  selected,
  slackBody,
  teamsBody,
  type NotificationEvent,
} from "../../src/notifications/create-notifications.js";
import { signatureHeaders } from "../../src/notifications/deliver.js";
import { messageOf } from "../../src/notifications/message.js";
import { WORDS } from "../comments/samples.js";

const change = { host: "hosta", repository: repositoryName("acme/deploy"), number: 7 } as const;
const origin = { id: "1", at: "2026-03-02T10:00:00.000Z", change };
const head = revision("a".repeat(40));
const [web, api] = [applicationName("web"), applicationName("team/api")];
const parts = {
  hostWords: WORDS,
  hostPageOf: () => "https://git.example.org/acme/deploy/7",
  pagesUrl: "https://svc.example.org",
};

const synced: Notification = {
  ...origin,
  kind: "run-ended",
  command: "sync",
  head,
  by: "ana",
  applications: [
    { application: web, outcome: "succeeded", rolledBack: false },
    { application: api, outcome: "succeeded", rolledBack: false },
  ],
  overridden: [],
  takenOver: [],
};
const failed: Notification = {
  ...synced,
  applications: [
    { application: web, outcome: "succeeded", rolledBack: false },
    { application: api, outcome: "failed", rolledBack: false },
  ],
};
const broken: Notification = { ...synced, applications: [] };
const rolledBack: Notification = {
  ...synced,
  command: "rollback",
  applications: [{ application: web, outcome: "succeeded", rolledBack: false }],
  takenOver: [{ application: web, from: { ...change, number: 8 } }],
};
const overridden: Notification = { ...synced, overridden: [{ application: web, check: "conftest", by: ["bo"] }] };
const unhealthy: Notification = {
  ...failed,
  applications: [{ application: web, outcome: "failed", rolledBack: true }],
};
const released: Notification = { ...origin, kind: "locks-released", by: "olga", applications: [web] };
const merged: Notification = { ...origin, kind: "merged", head, applications: [web] };
const rolledOut: Notification = {
  ...origin,
  kind: "rolled-out",
  head,
  unapproved: false,
  applications: [
    { application: web, end: "succeeded" },
    { application: api, end: "waiting" },
  ],
};
const notRolledOut: Notification = { ...rolledOut, applications: [{ application: web, end: "failed" }] };
const since = "2026-03-01T09:30:00.000Z";
const notMerged: Notification = {
  ...origin,
  kind: "not-merged",
  closed: false,
  head,
  by: "ana",
  since,
  applications: [web],
};
const away: Notification = { id: "1", at: origin.at, kind: "system", system: "Argo CD", available: false, since };
const expiring: Notification = {
  id: "1",
  at: origin.at,
  kind: "token-expires",
  system: "GitLab",
  expires: "2026-03-09T00:00:00.000Z",
  days: 6,
};
const back: Notification = { ...away, available: true };

const all: readonly (readonly [string, Notification, readonly NotificationEvent[], string])[] = [
  ["a sync", synced, ["synced"], "✅ acme/deploy#7: ana deployed 2 applications at aaaaaaaa"],
  ["a failed sync", failed, ["failed"], "❌ acme/deploy#7: svc sync by ana failed for 1 of 2 applications at aaaaaaaa"],
  ["a broken sync", broken, ["failed"], "❌ acme/deploy#7: svc sync by ana could not be carried out"],
  ["a rollback", rolledBack, ["rolled_back", "lock_taken_over"], "↩️ acme/deploy#7: ana rolled back 1 application"],
  [
    "an override",
    overridden,
    ["synced", "check_overridden"],
    "✅ acme/deploy#7: ana deployed 2 applications at aaaaaaaa",
  ],
  [
    "no health",
    unhealthy,
    ["failed", "rolled_back"],
    "❌ acme/deploy#7: svc sync by ana failed for 1 application at aaaaaaaa",
  ],
  ["a released lock", released, ["lock_taken_over"], "🔓 acme/deploy#7: olga, an administrator, released its lock"],
  ["a merge", merged, ["merged"], "🔀 acme/deploy#7 was merged at aaaaaaaa"],
  [
    "a rollout",
    rolledOut,
    ["rolled_out"],
    "✅ acme/deploy#7: after its merge, 1 of 2 applications rolled out at aaaaaaaa",
  ],
  [
    "a failed rollout",
    notRolledOut,
    ["rollout_failed"],
    "❌ acme/deploy#7: after its merge, 1 application failed at aaaaaaaa",
  ],
  [
    "no merge",
    notMerged,
    ["not_merged"],
    "⏰ acme/deploy#7 is deployed and not merged: by ana, since 2026-03-01 09:30 UTC at aaaaaaaa",
  ],
  [
    "a close",
    { ...notMerged, closed: true },
    ["not_merged"],
    "⏰ acme/deploy#7 was closed without a merge, and is still deployed: by ana, since 2026-03-01 09:30 UTC at aaaaaaaa",
  ],
  ["an outage", away, ["unavailable"], "⚠️ svc has not been able to use Argo CD since 2026-03-01 09:30 UTC"],
  ["a token", expiring, ["token_expires"], "⏳ The token of svc for GitLab expires in 6 days, at 2026-03-09 00:00 UTC"],
  [
    "a token that is no longer valid",
    { ...expiring, expires: origin.at, days: 0 },
    ["token_expires"],
    "⏳ The token of svc for GitLab expired at 2026-03-02 10:00 UTC",
  ],
  [
    "its end",
    back,
    ["unavailable"],
    "✅ svc can use Argo CD again, which had been unavailable since 2026-03-01 09:30 UTC",
  ],
];

const schema: unknown = JSON.parse(
  readFileSync(new URL("../../schemas/notification.schema.json", import.meta.url), "utf8"),
);
const isDocumented = new Ajv({ strict: true, formats: { "date-time": true } }).compile(schema as object);

test("every event of the file is told by some notification", () => {
  expect(new Set(all.flatMap(([, , events]) => events))).toEqual(new Set(NOTIFICATION_EVENTS));
});

describe.each(all)("%s", (_name, notification, events, headline) => {
  test("says in one line what happened", () => {
    expect(eventsOf(notification)).toEqual(events);
    expect(messageOf(notification, parts).headline).toBe(headline);
  });

  test("is a JSON body as the schema documents it", () => {
    const body: unknown = JSON.parse(jsonBody(notification, parts));
    expect(isDocumented(body) ? [] : isDocumented.errors).toEqual([]);
    expect(body).toMatchObject({ type: events[0], timestamp: origin.at, data: { events, text: headline } });
  });
});

const WHY = "A comment there says why, and what to do next.";

test("a message names each application once, failures first, and leads to the host and to svc", () => {
  expect(messageOf(failed, parts)).toMatchObject({
    lines: [WHY, "team/api: failed", "web: succeeded"],
    links: [
      { title: "acme/deploy#7", url: "https://git.example.org/acme/deploy/7" },
      { title: "page in svc", url: "https://svc.example.org/changes/github/acme/deploy/7" },
    ],
  });
  expect(messageOf(rolledBack, parts).lines).toEqual(["web", "the lock of web was taken over from acme/deploy#8"]);
  expect(messageOf(overridden, parts).lines.at(-1)).toBe("the check conftest failed for web and was overridden by bo");
  expect(messageOf(unhealthy, parts).lines).toEqual([WHY, "web: failed, and rolled back"]);
  expect(messageOf(broken, parts).lines).toEqual([WHY]);
  // The host may have refused the comment.
  const where = "To see why, look at the comments there, or in Argo CD.";
  expect(messageOf(notRolledOut, parts).lines).toEqual([where, "web: has not rolled out"]);
  const many = Array.from({ length: 600 }, (_, index) => applicationName(`app-${index}`));
  expect(messageOf({ ...merged, applications: many }, parts).lines.slice(19)).toEqual(["app-19", "and 580 more"]);
  const body = JSON.parse(jsonBody({ ...merged, applications: many }, parts)) as { data: Record<string, unknown> };
  expect(body.data.applications).toHaveLength(500);
  expect(body.data.applications_left_out).toBe(100);
  expect(
    Buffer.byteLength(
      teamsBody(
        messageOf(
          { ...merged, applications: many.map((name) => applicationName(`${name}-${"é".repeat(300)}`)) },
          parts,
        ),
      ),
    ),
  ).toBeLessThan(28_000);
});

const hostile = applicationName("<!channel> & <https://evil.example|x> @all [y](https://evil.example)\n# z\u202e");

test("foreign text is text: it pings nobody, links to nothing and starts no line", () => {
  const message = messageOf({ ...merged, applications: [hostile] }, parts);
  const { text } = JSON.parse(slackBody(message)) as { text: string };
  expect(text).toContain("• &lt;!channel&gt; &amp; &lt;https://evil.example|x&gt; @\u200ball [y]");
  expect(text.match(/<[^>]*>/g)).toEqual([
    "<https://git.example.org/acme/deploy/7|acme/deploy#\u200b7>",
    "<https://svc.example.org/changes/github/acme/deploy/7|page in svc>",
  ]);
  expect(text.split("\n")).toHaveLength(3);
  const card = JSON.parse(teamsBody(message)) as { attachments: { content: { body: object[] } }[] };
  // Neither a TextBlock, which reads Markdown, nor an entity, which mentions.
  expect(JSON.stringify(card)).not.toMatch(/"TextBlock"|msteams/);
  for (const paragraph of card.attachments[0]?.content.body ?? []) {
    expect(paragraph).toEqual({ type: "RichTextBlock", inlines: [expect.objectContaining({ type: "TextRun" })] });
  }
});

test("a message for Teams is one Adaptive Card as workflows take it", () => {
  expect(JSON.parse(teamsBody({ headline: "a", lines: ["b"], links: [{ title: "c", url: "https://c" }] }))).toEqual({
    type: "message",
    attachments: [
      {
        contentType: "application/vnd.microsoft.card.adaptive",
        contentUrl: null,
        content: {
          $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
          type: "AdaptiveCard",
          version: "1.2",
          body: [
            { type: "RichTextBlock", inlines: [{ type: "TextRun", text: "a", weight: "Bolder" }] },
            { type: "RichTextBlock", inlines: [{ type: "TextRun", text: "• b" }] },
          ],
          actions: [{ type: "Action.OpenUrl", title: "c", url: "https://c" }],
        },
      },
    ],
  });
});

test("a signature is one that a receiver of Standard Webhooks accepts, and none that is changed or old", () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const now = new Date("2026-03-02T10:00:00.000Z");
  const headers = signatureHeaders({ id: "msg_1", body: '{"a":1}' }, secret, now);
  const passes = (body: string, at = now) => {
    const check = signatureCheck(headers, signingKey(secret), at);
    check?.update(Buffer.from(body));
    return check?.passes();
  };
  expect(passes('{"a":1}')).toBe(true);
  expect(passes('{"a":2}')).toBe(false);
  expect(passes('{"a":1}', new Date(now.getTime() + 600_000))).toBeUndefined();
});

describe("what a receiver wants", () => {
  const receiver: NotificationReceiver = {
    name: "n",
    url: "https://a",
    format: "slack",
    events: [...NOTIFICATION_EVENTS],
    repositories: [],
    applications: [],
    secret: undefined,
  };
  test.each<readonly [string, Notification, Partial<NotificationReceiver>, boolean]>([
    ["everything", synced, {}, true],
    ["another event", synced, { events: ["failed"] }, false],
    ["the second event", rolledBack, { events: ["lock_taken_over"] }, true],
    ["its repository, in another case", synced, { repositories: ["Acme/*"] }, true],
    ["another repository", synced, { repositories: ["acme/shop"] }, false],
    ["its repository with its host", synced, { repositories: ["github:acme/*"] }, true],
    ["one of that name on the other host", synced, { repositories: ["gitlab:acme/*"] }, false],
    ["its application", synced, { applications: ["team/*"] }, true],
    ["another application", synced, { applications: ["shop"] }, false],
    ["an application, and nothing was looked at", broken, { applications: ["web"] }, false],
    ["outages, whatever the repository", away, { repositories: ["acme/shop"], applications: ["shop"] }, true],
  ])("%s", (_name, notification, filters, wanted) => {
    expect(selected(notification, { ...receiver, ...filters }) !== undefined).toBe(wanted);
  });

  test("whoever named applications hears of them alone, and not of the failures of others", () => {
    const mine = selected(failed, { ...receiver, applications: ["web"] });
    expect(mine).toEqual({ ...failed, applications: [{ application: web, outcome: "succeeded", rolledBack: false }] });
    expect(mine && eventsOf(mine)).toEqual(["synced"]);
  });
});
