import * as z from "zod";
import { HostFailure } from "../core/model/errors.js";
import { isNestedDeeper, parseJson } from "../core/model/json.js";
import type { Answer } from "../http/fetch-text.js";
import type { FailureWords } from "./host-refusal.js";

/**
 * Client libraries return incomplete JSON or a login page as a string; here that is an error.
 * @param maybeDone Whether the request was a write, which may have taken effect.
 * @throws {HostFailure} if a successful answer that has a body is not JSON.
 */
export function proveJson({ status, headers, text }: Answer, words: FailureWords, maybeDone: boolean): void {
  if (status < 200 || status > 299 || status === 204 || status === 205) return;
  const type = headers.get("content-type") ?? "";
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) {
    const kind = /html/i.test(type) ? "a web page" : "something other than JSON";
    throw new HostFailure(
      "failed",
      `${words.title} answered with ${kind}: check that ${words.addressKey} is the address of its API, not behind a login.`,
      { maybeDone },
    );
  }
  if (parseJson(text) === undefined) {
    throw new HostFailure("failed", `${words.title} answered with incomplete or invalid JSON. Try again later.`, {
      maybeDone,
    });
  }
}

/** GitLab answers with lists of messages by field. */
const MAX_MESSAGE_DEPTH = 10;

/** The `message` or `error` of a refusal's body, if it is JSON that has one. */
export function refusalMessage(text: string): string | undefined {
  const parsed = z
    .object({ message: z.unknown().optional(), error: z.unknown().optional() })
    .safeParse(parseJson(text));
  const said = parsed.data?.message ?? parsed.data?.error;
  if (said === undefined || said === null) return undefined;
  if (typeof said === "string") return said;
  return isNestedDeeper(MAX_MESSAGE_DEPTH, said) ? undefined : JSON.stringify(said);
}

/**
 * Reads an answer with a schema.
 * @param asked Completes "when asked to".
 * @param maybeDone Whether the request was a write, which may have taken effect.
 * @throws {HostFailure} if the answer does not have the documented shape.
 */
export function decodeAnswer<Schema extends z.ZodType>(
  schema: Schema,
  data: unknown,
  words: FailureWords,
  asked: string,
  maybeDone = false,
): z.output<Schema> {
  const result = schema.safeParse(data);
  if (result.success) return result.data;
  const where = result.error.issues
    .slice(0, 3)
    .map((issue) => issue.path.join(".") || "the whole")
    .join(", ");
  throw new HostFailure("failed", `${words.title} gave an unexpected answer when asked to ${asked} (${where}).`, {
    cause: result.error,
    maybeDone,
  });
}
