import type { JsonObject } from "../examples.js";
import type { InstallationToken, Tokens } from "../tokens.js";
import type { Comment, Issue, Pull, Repository, World } from "../world.js";

/** One admitted request to the REST API. */
export interface Call {
  readonly world: World;
  readonly tokens: Tokens;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: JsonObject;
  /** The requested URL, for `Link` headers. */
  readonly url: URL;
  /** Undefined if the App itself calls, or somebody without credentials. */
  readonly token: InstallationToken | undefined;
  /** The repository that the path names. */
  readonly repository: Repository;
  /** Sends webhooks; the answer to the request does not wait for them. */
  readonly announce: Announce;
}

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Announce {
  /** `previous` is the text before an edit. */
  comment(issue: Issue | Pull, comment: Comment, previous: string | undefined): void;
  closed(pull: Pull): void;
  /** Does it after the answer, as GitHub does. */
  updates(pull: Pull): void;
}

export interface Route {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** The path as spelt in GitHub's description. */
  readonly template: string;
  readonly caller: "app" | "installation" | "anyone";
  /** One of these permissions is required. */
  readonly needs?: readonly (readonly [permission: string, level: "read" | "write"])[];
  handle(call: Call): Promise<Answer> | Answer;
}

/** An error answer of GitHub. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  constructor(
    readonly status: number,
    message: string,
    readonly errors?: readonly JsonObject[],
  ) {
    super(message);
  }
}

export function notFound(): ApiError {
  return new ApiError(404, "Not Found");
}

/** One page of a list (30 a page, at most 100), with the `Link` header that leads to the others. */
export function page<T>(
  call: Call,
  items: readonly T[],
): { readonly items: readonly T[]; headers: Record<string, string> } {
  const perPage = Math.min(Math.max(Number(call.query.per_page ?? 30) || 30, 1), 100);
  const current = Math.max(Number(call.query.page ?? 1) || 1, 1);
  const last = Math.max(Math.ceil(items.length / perPage), 1);
  const link = (rel: string, to: number): string => {
    const url = new URL(call.url);
    url.searchParams.set("page", String(to));
    return `<${url.href}>; rel="${rel}"`;
  };
  const links = [
    ...(current > 1 ? [link("prev", Math.min(current - 1, last))] : []),
    ...(current < last ? [link("next", current + 1), link("last", last)] : []),
    ...(current > 1 ? [link("first", 1)] : []),
  ];
  return {
    items: items.slice((current - 1) * perPage, current * perPage),
    headers: links.length === 0 ? {} : { Link: links.join(", ") },
  };
}
