import type { ApiAnswer } from "./provider-api.js";

/** What an answer that is neither yes nor no means, in a sentence with the cure. */
export function hintFor({ status, headers }: ApiAnswer, cure: string): string {
  if (status === 429 || (status === 403 && headers.get("x-ratelimit-remaining") === "0")) {
    return "Its rate limit is used up: wait a few minutes.";
  }
  if (status >= 500) return `It answered ${status}: try again in a minute.`;
  // https://docs.github.com/rest/authentication/authenticating-to-the-rest-api : names the page that authorizes for SSO.
  if (headers.has("x-github-sso")) return `The organization requires single sign-on: sign in there first. ${cure}`;
  return `${status === 401 || status === 403 ? "It did not allow the question" : `It answered ${status}`}. ${cure}`;
}
