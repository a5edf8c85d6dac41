import { z } from "zod";
import { HostFailure } from "../core/model/errors.js";
import { parseJson } from "../core/model/json.js";
import type { Answer } from "../http/fetch-text.js";
import type { FailureWords } from "./host-refusal.js";

/**
 * Proves a successful answer to be JSON. Client libraries hand out half a JSON or a login page as a string; here that is an error.
 * @param maybeDone Whether the request was to change something, which an unreadable answer leaves open.
 * @throws {HostFailure} when a successful answer that has a body is not JSON.
 */
export function proveJson({ status, headers, text }: Answer, words: FailureWords, maybeDone: boolean): void {
  if (status < 200 || status > 299 || status === 204 || status === 205) return;
  const type = headers.get("content-type") ?? "";
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) {
    const kind = /html/i.test(type) ? "a web page" : "something else than JSON";
    throw new HostFailure(
      "failed",
      `${words.title} answered with ${kind}: check that ${words.addressKey} is the address of its API, not behind a login.`,
      { maybeDone },
    );
  }
  if (parseJson(text) === undefined) {
    throw new HostFailure("failed", `${words.title} answered with JSON that is cut off or broken. Try again later.`, {
      maybeDone,
    });
  }
}

/** The `message` or `error` of a refusal's body, if it is JSON that has one. */
export function refusalMessage(text: string): string | undefined {
  const parsed = z
    .object({ message: z.unknown().optional(), error: z.unknown().optional() })
    .safeParse(parseJson(text));
  const said = parsed.data?.message ?? parsed.data?.error;
  if (said === undefined || said === null) return undefined;
  return typeof said === "string" ? said : JSON.stringify(said);
}

/**
 * Makes a domain value of an answer.
 * @param asked What the host was asked for, as it follows "when asked to".
 * @param maybeDone Whether it is the answer to a request that changed something.
 * @throws {HostFailure} when the answer has another shape than the host documents.
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
  throw new HostFailure(
    "failed",
    `${words.title} gave an answer that could not be understood when asked to ${asked} (${where}).`,
    { cause: result.error, maybeDone },
  );
}
