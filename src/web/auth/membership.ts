import type { groupsAskedFor } from "./assign-role.js";
import { type ApiAnswer, ProviderFailure } from "./provider-api.js";

/** Whether somebody belongs to one team, group or organization; `problem` says what to look at when nobody can tell. */
export type Membership =
  { readonly kind: "member" } | { readonly kind: "none" } | { readonly kind: "unproven"; readonly problem: string };

/** Calls to a provider at the same time for one login. */
const AT_ONCE = 5;

/** Asks about each name once; what fails is unproven and not "none". */
export async function askMemberships(
  names: readonly string[],
  ask: (name: string) => Promise<Membership>,
): Promise<ReadonlyMap<string, Membership>> {
  const left = [...new Set(names)];
  const found = new Map<string, Membership>();
  const worker = async (): Promise<void> => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      found.set(name, await ask(name).catch(safeFailure));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return found;
}

/** Of a list of which one is enough: a member of one, of none, or unproven where a "none" is not sure. */
export function memberOfAny(names: readonly string[], found: ReadonlyMap<string, Membership>): Membership {
  const answers = names.map((name) => found.get(name) ?? { kind: "none" as const });
  return (
    answers.find(({ kind }) => kind === "member") ?? answers.find(({ kind }) => kind === "unproven") ?? { kind: "none" }
  );
}

/** A failed call as a membership that nobody can tell; errors that are none of the provider's go on. */
export function safeFailure(error: unknown): Membership & { readonly kind: "unproven" } {
  if (!(error instanceof ProviderFailure)) throw error;
  return { kind: "unproven", problem: `Its API could not be used (${error.message}): try again in a minute.` };
}

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

/**
 * The patterns that the provider could not say yes or no to, with what to look at.
 * @param listProblem why the list of all groups, which patterns with a `*` need, could not be had.
 */
export function unprovenGroups(
  asked: ReturnType<typeof groupsAskedFor>,
  found: ReadonlyMap<string, Membership>,
  listProblem: string | undefined,
): ReadonlyMap<string, string> {
  const unproven = new Map<string, string>();
  for (const { pattern, name } of asked) {
    const answer = found.get(name);
    const problem = name.includes("*") ? listProblem : answer?.kind === "unproven" ? answer.problem : undefined;
    if (problem !== undefined) unproven.set(pattern, problem);
  }
  return unproven;
}
