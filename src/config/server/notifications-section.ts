import { listOf, oneOf, pattern, section, signingSecret, textLeaf, Wrong } from "../schema-parts.js";

/** What receivers are told of. */
export const NOTIFICATION_EVENTS = [
  "synced",
  "failed",
  "rolled_back",
  "merged",
  "not_merged",
  "lock_taken_over",
  "check_overridden",
  "unavailable",
] as const;
export type NotificationEvent = (typeof NOTIFICATION_EVENTS)[number];

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
/** Each receiver has a connection to Redis of its own. */
const MOST_RECEIVERS = 20;

/** `notifications`: who is told what was deployed. Only here: what a repository's file says never leads anywhere. */
export function notificationsSection() {
  const receiver = section({
    name: textLeaf(
      "1 to 40 lower-case letters, digits and dashes, of which the first and the last are no dashes",
      (value) => (NAME.test(value) ? value : new Wrong()),
    )
      .meta({ title: "name", type: "string", pattern: NAME.source })
      .describe("what the log, the metrics and the status page call the receiver; no two have the same"),
    url: receiverAddress().describe("where messages are posted; for Slack and Teams the address is a secret"),
    format: oneOf(["slack", "teams", "json"]).describe(
      "`slack`: an incoming webhook of Slack, or of a chat that takes the same; `teams`: a workflow of Microsoft Teams; `json`: signed, for programs",
    ),
    events: listOf(oneOf(NOTIFICATION_EVENTS))
      .min(1, "at least one event is needed; leave the key out for all of them")
      .prefault([...NOTIFICATION_EVENTS])
      .describe("what the receiver is told of"),
    repositories: listOf(pattern()).prefault([]).describe("only these repositories; empty: all"),
    applications: listOf(pattern()).prefault([]).describe("only these applications; empty: all"),
    secret: signingSecret("a signing secret: whsec_ and at least 24 bytes as Base64")
      .optional()
      .describe(
        "signs the messages: `whsec_` and 24 bytes or more as Base64; required with `format: json`, and refused with the others",
      ),
  }).meta({
    // The same as `notificationRules` says of it.
    not: {
      type: "object",
      required: ["format"],
      anyOf: [
        { properties: { format: { const: "json" } }, not: { required: ["secret"] } },
        { properties: { format: { enum: ["slack", "teams"] } }, required: ["secret"] },
      ],
    },
  });
  return listOf(receiver, MOST_RECEIVERS).prefault([]).describe("who is told what was deployed");
}

/** Unlike `url()` with a query: addresses of workflows carry their signature in it. Messages never quote it. */
function receiverAddress() {
  const allowed = "an address that begins with http:// or https://, without user and fragment";
  return textLeaf(allowed, (value) => {
    if (!/^https?:\/\/[^\s#]+$/i.test(value) || !URL.canParse(value)) return new Wrong();
    const { username, password } = new URL(value);
    return username === "" && password === "" ? value : new Wrong();
  }).meta({ title: "address", type: "string", pattern: "^(?![^/]*//[^/?]*@)[hH][tT][tT][pP][sS]?://[^\\s#]+$" });
}
