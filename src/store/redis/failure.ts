import * as z from "zod";
import { StoredValueUnreadable, StoreUnavailable } from "../../core/model/errors.js";
import { STORE_TITLE } from "../../names.js";

/** What Node's error codes mean, in words for users (https://nodejs.org/api/errors.html#common-system-errors). */
const networkProblems: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection closed",
  EPIPE: "connection closed",
  ETIMEDOUT: "timed out",
  EHOSTUNREACH: "host unreachable",
  ENETUNREACH: "network unreachable",
  ENOTFOUND: "host name not found",
  EAI_AGAIN: "host name not found",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is not trusted: set kvstore.ca_file",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is not trusted: set kvstore.ca_file",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is not trusted: set kvstore.ca_file",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is not trusted: set kvstore.ca_file",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host name",
};

/** The first word of an error reply is its code (https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors). */
const replyProblems: Readonly<Record<string, string>> = {
  WRONGPASS: "wrong user name or password",
  NOAUTH: "a password is required",
  NOPERM: "the user lacks a permission",
  LOADING: "it is still loading its data",
  READONLY: "it is a read-only replica",
  OOM: "it is out of memory",
  MISCONF: "it cannot save its data",
  MASTERDOWN: "its primary is down",
  CLUSTERDOWN: "a part of the cluster is down",
};

/** The safe parts of an ioredis error, which also carries the arguments of the command, passwords included. */
interface Failure {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
  /** The Redis command, lower-case. */
  readonly command: string | undefined;
}

function failureOf(error: unknown): Failure {
  const parsed = failure.safeParse(error);
  if (!parsed.success) return { name: "", message: "", code: undefined, command: undefined };
  const { name, message, code, command, errors, lastNodeError } = parsed.data;
  // Node wraps the failures of a host's addresses in an AggregateError; ioredis does so for the nodes of a cluster.
  const inner = errors?.[0] ?? lastNodeError;
  return inner === undefined ? { name, message, code, command: command?.name } : failureOf(inner);
}

const failure = z.object({
  name: z.string(),
  message: z.string(),
  code: z.string().optional().catch(undefined),
  command: z.object({ name: z.string() }).optional().catch(undefined),
  errors: z.array(z.unknown()).optional().catch(undefined),
  lastNodeError: z.unknown().optional(),
});

/** The code of an error reply from Redis; undefined for any other error. */
export function replyCode(error: unknown): string | undefined {
  const { name, message } = failureOf(error);
  return name === "ReplyError" ? /^[A-Z]+/.exec(message)?.[0] : undefined;
}

/** ioredis 6.0.0 continues with database 0 if the configured one does not exist. */
export function isSelect(error: unknown): boolean {
  return failureOf(error).command === "select";
}

/** What went wrong, in a few words without secrets; undefined if the error does not say. */
export function describeProblem(error: unknown): string | undefined {
  const reply = replyCode(error);
  if (reply === "ERR" && isSelect(error)) return "the database number does not exist";
  if (reply !== undefined) return replyProblems[reply] ?? `it answered ${reply}`;
  const { code } = failureOf(error);
  return code === undefined ? undefined : (networkProblems[code] ?? code);
}

/** The error for logs and causes, without the arguments of its command. */
export function withoutArguments(error: unknown): Error {
  const { name, message, code, command } = failureOf(error);
  // Old servers repeat the arguments of an unknown command.
  const secret = command === "hello" || command === "auth";
  return new Error([name, code, command, secret ? undefined : message.slice(0, 300)].filter(Boolean).join(": "));
}

export function unavailable(problem: string, error?: unknown): StoreUnavailable {
  const options = error === undefined ? undefined : { cause: withoutArguments(error) };
  return new StoreUnavailable(`failed to connect to ${STORE_TITLE}: ${problem}`, options);
}

/** The error for a command that Redis answered with an error reply. */
export function refused(error: unknown): StoreUnavailable | StoredValueUnreadable {
  if (replyCode(error) === "WRONGTYPE") {
    const text = `a value of this service in ${STORE_TITLE} was overwritten by another program`;
    return new StoredValueUnreadable(text, { cause: withoutArguments(error) });
  }
  return new StoreUnavailable(`${STORE_TITLE} refused a command: ${describeProblem(error) ?? "unknown problem"}`, {
    cause: withoutArguments(error),
  });
}
