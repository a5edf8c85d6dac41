import { z } from "zod";
import { HostFailure } from "../core/errors.js";
import type { HostWords } from "./host-refusal.js";

/** A comparison of two commits on GitHub may carry the patches of 300 files. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/**
 * Reads an answer to its end. Client libraries hand out half a JSON or a login page as a string; here that is an error.
 * @param maybeDone Whether the request was to change something, which an unreadable answer leaves open.
 * @throws {HostFailure} when a successful answer is not JSON, or any answer is too large.
 */
export async function readJsonAnswer(response: Response, words: HostWords, maybeDone: boolean): Promise<Response> {
  const { status, headers } = response;
  const text = await readText(response, words, maybeDone);
  if (status === 204 || status === 205 || status === 304) return new Response(null, { status, headers });
  if (response.ok) {
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
  return new Response(text, { status, headers });
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

async function readText(response: Response, words: HostWords, maybeDone: boolean): Promise<string> {
  if (response.body === null) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) {
      throw new HostFailure("failed", `${words.title} sent an answer of more than 32 MB; it was not read.`, {
        maybeDone,
      });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
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
  words: HostWords,
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
