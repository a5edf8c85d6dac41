import type { Fault } from "../../sandbox/faults.js";
import type { HostFailureReason } from "../../src/core/model/errors.js";
import type { HostTraits } from "./code-host-under-test.js";

/** The deadline of a client for the host that does not answer. */
export const REQUEST_TIMEOUT_MS = 1_000;

/** One way in which a host is broken. */
export interface FaultCase {
  readonly fault: (elsewhere: string) => Fault;
  readonly reason: HostFailureReason;
  /** How often a read is sent. */
  readonly reads: number;
  /** How often a write is sent; more than once only where the answer says that nothing was done. 1 when absent. */
  readonly writes?: number;
  /** Whether a write may have been carried out. */
  readonly unknown?: true;
  readonly message: (host: HostTraits) => RegExp;
}

const status = (code: number, headers?: Record<string, string>) => (): Fault => ({
  kind: "status",
  status: code,
  body: JSON.stringify({ message: "said", documentation_url: "https://docs.example.com", status: String(code) }),
  headers: { "content-type": "application/json", ...headers },
});
const limited = (): RegExp => /rate limit is used up .*Try again in some minutes/;

export const FAULT_CASES: Readonly<Record<string, FaultCase>> = {
  "401": { fault: status(401), reason: "unauthenticated", reads: 1, message: (host) => host.credentialsCure },
  "403": { fault: status(403), reason: "forbidden", reads: 1, message: (host) => host.permissionCure },
  "404": { fault: status(404), reason: "not-found", reads: 1, message: (host) => host.visibilityCure },
  // GitLab: its database took too long.
  "408": {
    fault: status(408),
    reason: "failed",
    reads: 3,
    unknown: true,
    message: () => /failed \(408\).*Try again later/,
  },
  "409": { fault: status(409), reason: "rejected", reads: 1, message: () => /refused to .*409, "said"/ },
  "415": { fault: status(415), reason: "rejected", reads: 1, message: () => /refused to .*415, "said"/ },
  "429 with Retry-After": {
    fault: status(429, { "retry-after": "7" }),
    reason: "rate-limited",
    reads: 3,
    writes: 3,
    message: limited,
  },
  "429 for an hour": {
    fault: status(429, { "retry-after": "3600" }),
    reason: "rate-limited",
    reads: 1,
    message: limited,
  },
  // Sent again after a minute, and not after the two minutes that follow.
  "429 without a word": { fault: status(429), reason: "rate-limited", reads: 2, writes: 2, message: limited },
  "403 with nothing left of the limit": {
    fault: status(403, { "x-ratelimit-remaining": "0" }),
    reason: "rate-limited",
    reads: 2,
    writes: 2,
    message: limited,
  },
  "500": {
    fault: status(500),
    reason: "failed",
    reads: 3,
    unknown: true,
    message: () => /failed \(500\).*Try again later/,
  },
  "503 as a web page": {
    fault: () => ({
      kind: "status",
      status: 503,
      body: "<html>down</html>",
      headers: { "content-type": "text/html" },
    }),
    reason: "failed",
    unknown: true,
    reads: 3,
    message: () => /failed \(503\).*Try again later/,
  },
  "a web page": {
    fault: () => ({
      kind: "status",
      status: 200,
      body: "<html>Sign in</html>",
      headers: { "content-type": "text/html" },
    }),
    reason: "failed",
    unknown: true,
    reads: 1,
    message: ({ addressKey }) => new RegExp(`web page: check that ${addressKey}`),
  },
  "half a JSON": {
    fault: () => ({ kind: "half-json" }),
    reason: "failed",
    unknown: true,
    reads: 1,
    message: () => /incomplete or invalid JSON. Try again later/,
  },
  "a redirect to another origin": {
    fault: (to) => ({ kind: "redirect", to }),
    reason: "failed",
    reads: 1,
    message: ({ addressKey }) => new RegExp(`redirect to http://127.0.0.1:\\d+ .*set ${addressKey}`),
  },
  "a dropped connection": {
    fault: () => ({ kind: "drop" }),
    reason: "unreachable",
    unknown: true,
    reads: 3,
    message: ({ addressKey }) => new RegExp(`could not be reached .*check ${addressKey}`),
  },
  nothing: {
    fault: () => ({ kind: "hang" }),
    reason: "unreachable",
    unknown: true,
    reads: 1,
    message: () => /did not answer within 1 second/,
  },
};
