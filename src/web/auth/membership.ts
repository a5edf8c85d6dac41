import { ProviderFailure } from "./provider-api.js";

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
