import { expect, test } from "@jest/globals";
import { connectionProblem, interpretError, readableText } from "../../../src/deployer/argocd/argocd-failure.js";
import { fixture } from "./fixture.js";

const NOW = new Date("2026-06-01T12:00:00Z");

test.each([
  ["connect", false],
  ["write", true],
  ["read", true],
])("a host that cannot be reached at %s: whether Argo CD may have got the request is %s", (syscall, maybeDone) => {
  const cause = Object.assign(new Error(`${syscall} EHOSTUNREACH`), { code: "EHOSTUNREACH", syscall });
  expect(connectionProblem(new TypeError("fetch failed", { cause }))).toMatchObject({
    reason: "unreachable",
    transient: true,
    maybeDone,
  });
});

function interpret(status: number, answer: unknown, permission = "applications, get") {
  const body = typeof answer === "string" ? answer : JSON.stringify(answer);
  return interpretError({
    status,
    body,
    retryAfter: undefined,
    now: NOW,
    method: "GET",
    path: "/api/v1/x",
    permission,
  });
}

const recorded = fixture("errors") as { method: string; path: string; status: number; answer: unknown }[];

/** What each recorded error means, in the order of the fixture. */
const MEANINGS: readonly (readonly [reason: string, message: string | RegExp])[] = [
  ["failed", "Argo CD answered HTTP 415: Invalid content type"],
  ["failed", "Argo CD answered HTTP 415: Invalid content type"],
  ["unauthenticated", "Argo CD does not accept argocd.token: no session information"],
  ["forbidden", "permission denied: applications, get"],
  ["not-found", 'applications.argoproj.io "nope" not found'],
  ["forbidden", "permission denied: applications, get"],
  ["unsupported", /does not know GET \/api\/v1\/x/],
  ["unsupported", /does not know GET \/api\/v1\/x/],
  ["unauthenticated", /invalid session: token is malformed/],
  ["failed", /^cannot reference a different revision of the same repository/],
  ["failed", "runtime error: index out of range [1] with length 1"],
  ["failed", /^failed to initialize repository resources: Failed to checkout revision f{40}/],
  ["refused", "existing application spec is different, use upsert flag to force update"],
  ["forbidden", "permission denied: applications, create"],
  ["refused", 'app is not allowed in project "missing", or the project does not exist'],
  ["not-found", 'applications.argoproj.io "svc-tmp-1" not found'],
  ["refused", "cannot set propagation policy when cascading is disabled"],
  ["forbidden", "permission denied: applications, delete"],
  ["failed", "source position is out of range"],
  ["refused", /^json: cannot unmarshal string/],
  ["refused", /^Cannot sync to 34140a4e\w*: auto-sync currently set to main$/],
  ["refused", "error resolving repo revision: unable to resolve 'nobranch' to a commit SHA"],
  ["forbidden", "permission denied: applications, sync"],
  ["refused", "cannot sync: blocked by sync window"],
  ["busy", "another operation is already in progress"],
  ["failed", /templated `project` fields$/],
  ["forbidden", "permission denied: applicationsets, create"],
  ["failed", /^unable to generate Applications of ApplicationSet/],
  ["failed", /^unable to checkout git repo/],
  ["refused", "ApplicationSet references project nope which does not exist"],
  ["not-found", /applicationset.argoproj.io "none" not found/],
  ["forbidden", "permission denied: applications, get"],
  [
    "refused",
    /^application spec for web is invalid: InvalidSpecError: Unable to generate manifests in newpath: newpath/,
  ],
  ["forbidden", "permission denied: applications, sync"],
];

test("every recorded error is covered", () => expect(recorded).toHaveLength(MEANINGS.length));

test.each(recorded.map((one, index) => [`${one.status} to ${one.method} ${one.path}`, one, MEANINGS[index]] as const))(
  "%s",
  (_title, one, meaning) => {
    const failure = interpret(one.status, one.answer);
    expect(failure.reason).toBe(meaning?.[0]);
    const message = meaning?.[1] ?? "";
    if (typeof message === "string") expect(failure.message).toBe(message);
    else expect(failure.message).toMatch(message);
    expect(failure.message).not.toContain("rpc error:");
  },
);

function grpc(code: number, message: string) {
  return { code, message, error: message };
}

test.each([
  [
    "code 2 hides a failure of the repo-server",
    500,
    grpc(2, "permission denied"),
    "failed",
    /token's permissions are not the cause/,
  ],
  [
    "an override privilege",
    403,
    grpc(7, "permission denied: applications, override, fin/billing, sub: svc"),
    "forbidden",
    /^permission denied: applications, override$/,
  ],
  ["a Helm repository", 403, grpc(7, "helm repos x are not permitted in project 'p'"), "refused", /^helm repos x/],
  ["a deletion", 400, grpc(9, "application is deleting"), "refused", /^application is deleting$/],
  ["an old version", 501, grpc(12, "Method Not Allowed"), "unsupported", /2\.13/],
  ["a slow repo-server", 504, grpc(4, "context deadline exceeded"), "unreachable", /did not finish in time/],
  ["no repo-server", 503, grpc(14, "connection error: desc = x"), "unreachable", /is unavailable/],
  ["a conflict", 409, grpc(10, "Operation cannot be fulfilled"), "refused", /cannot be fulfilled/],
  ["an existing object", 409, grpc(6, "already exists"), "refused", /already exists/],
  [
    "a revoked token",
    401,
    grpc(16, "invalid session: token is revoked, please re-login"),
    "unauthenticated",
    /revoked/,
  ],
  ["only the member error", 500, { error: "boom" }, "failed", /^Argo CD answered HTTP 500: boom$/],
  [
    "a proxy's page",
    503,
    "<html>down for <b>maintenance</b>",
    "unreachable",
    /^failed to connect to Argo CD: HTTP 503: an HTML page$/,
  ],
  ["a proxy's 401", 401, "", "unauthenticated", /HTTP 401/],
  ["a proxy's 403", 403, "<html>", "forbidden", /in front of Argo CD/],
  ["a JSON list", 500, "[1]", "failed", /HTTP 500: \[1\]/],
  ["half a JSON", 500, '{"error":"b', "failed", /HTTP 500/],
])("%s", (_title, status, answer, reason, message) => {
  const failure = interpret(status, answer);
  expect(failure.reason).toBe(reason);
  expect(failure.message).toMatch(message);
});

test.each([
  [502, true],
  [503, true],
  [504, true],
  [500, false],
  [409, false],
])("HTTP %d leaves the outcome of a write open and lets a read be tried again: %s", (status, open) => {
  const failure = interpret(status, grpc(2, "x"));
  expect([failure.maybeDone, failure.transient]).toEqual([open, open]);
});

test("messages are bounded, and lose credentials and gRPC prefixes", () => {
  const long = readableText(`rpc error: code = Internal desc = https://bo:pa55@git.test/x ${"y".repeat(9000)}`);
  expect(long.startsWith("https://git.test/x yyy")).toBe(true);
  expect(long.length).toBeLessThanOrEqual(4001);
  expect(readableText("😀".repeat(3000), 1001).at(-2)).toBe("\uDE00");
});
