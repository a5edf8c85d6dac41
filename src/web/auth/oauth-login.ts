import {
  allowInsecureRequests,
  authorizationCodeGrant,
  ClientSecretPost,
  Configuration,
  customFetch,
  refreshTokenGrant,
} from "openid-client";
import type * as z from "zod";
import type { OidcSection, RoleAssignment } from "../../config/server/server.js";
import type { LoginProvider } from "../../core/model/account.js";
import { allInTurns } from "../../core/model/collections.js";
import { parseJson } from "../../core/model/json.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import { AnswerTooLarge, fetchText } from "../../http/fetch-text.js";
import { HOST_TITLES, type HostId } from "../../names.js";
import { meaningOf } from "./assign-role.js";
import type { LoginFacts, RedirectProvider } from "./login-provider.js";
import {
  type ApiAnswer,
  authorizationUrl,
  hintFor,
  isLimited,
  PROVIDER_LIMITS,
  providerFetch,
  refusalOfExchange,
  tokensIn,
} from "./oauth-client.js";
import { isRefusal, type LoginRefusal, refuse } from "./refusal.js";
import type { ProviderTokens } from "./token-seal.js";

/** A provider's API did not answer usefully. */
class ProviderFailure extends Error {
  override readonly name = "ProviderFailure";
}

/** A code host that logs people in with OAuth, and whose API says who they are and where they belong. */
export interface OAuthHost {
  readonly id: HostId;
  readonly client: Pick<OidcSection, "clientId" | "clientSecret">;
  /** What it calls itself in the `iss` of its callbacks (RFC 9207). */
  readonly issuer: string;
  readonly authorize: string;
  readonly token: string;
  /** Parameters of the address at which a login starts. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Root of its API, and the headers of each request to it. */
  readonly api: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Configuration keys of its two addresses, for whoever has to correct them. */
  readonly keys: { readonly login: string; readonly api: string };
  /** Reads the answer to `/user`. */
  readonly user: z.ZodType<Person & { readonly active: boolean }>;
  /** Where the verified e-mail address is, if `/user` does not have it. */
  readonly emails?: { readonly path: string; readonly verified: z.ZodType<string | undefined>; readonly hint: string };
  readonly organizations?: Allowed;
  readonly groups: Allowed & {
    readonly what: "team" | "group";
    /** Path of the list of all groups of the person, for patterns with a `*`. */
    readonly list: string;
    readonly names: z.ZodType<readonly string[]>;
    /** What to check if the list cannot be read, or is too long. For people. */
    readonly cure: string;
    readonly tooMany: string;
  };
}

type Person = Pick<LoginFacts, "subject" | "username" | "email" | "external">;

/** Where a person has to belong to at least one if any is named, and how to ask about one. @throws {ProviderFailure} */
interface Allowed {
  readonly allowed: readonly string[];
  readonly ask: (api: ProviderApi, name: string, person: Person) => Promise<Membership>;
}

/** Whether a person belongs to a team, group or organization. `problem` says what to check if the provider cannot tell. */
export type Membership =
  | { readonly kind: "member" }
  | { readonly kind: "none" }
  | { readonly kind: "unproven"; readonly problem: string };

export function oauthLogin(
  host: OAuthHost,
  assignments: readonly RoleAssignment[],
  clock: Clock,
  log: Log,
): RedirectProvider {
  const client = clientOf(host);
  const title = HOST_TITLES[host.id];
  const factsFor = ({ access }: ProviderTokens) =>
    factsOf(host, assignments, providerApi(host.api, access, host.headers));
  const granted = async (grant: Promise<ProviderTokens>, answer?: URL): Promise<ProviderTokens | LoginRefusal> => {
    try {
      return await grant;
    } catch (error) {
      return refusalOfExchange(error, { provider: host.id, title, addressKey: host.keys.login, answer }, log);
    }
  };
  return {
    id: host.id,
    name: title,
    begin: (attempt, callbackUrl) =>
      authorizationUrl(client, attempt, { ...host.parameters, redirect_uri: callbackUrl }),
    async finish(answer, { state, codeVerifier }) {
      const checks = { expectedState: state, pkceCodeVerifier: codeVerifier };
      const given = authorizationCodeGrant(client, answer, checks).then((one) => tokensIn(one, clock.now()));
      const tokens = await granted(given, answer);
      if (isRefusal(tokens)) return tokens;
      const facts = await factsFor(tokens);
      return isRefusal(facts) ? facts : { facts, tokens };
    },
    async ask(known) {
      const tokens = await granted(freshTokens(client, known, clock.now()));
      return isRefusal(tokens) ? { answer: tokens, tokens: known } : { answer: await factsFor(tokens), tokens };
    },
  };
}

/** A client without discovery. Plain http is allowed if the address was configured so. */
function clientOf({ issuer, authorize, token, client: { clientId, clientSecret } }: OAuthHost): Configuration {
  const client = new Configuration(
    { issuer, authorization_endpoint: authorize, token_endpoint: token },
    clientId,
    { client_secret: clientSecret },
    ClientSecretPost(clientSecret),
  );
  client.timeout = PROVIDER_LIMITS.timeoutMs / 1000;
  client[customFetch] = providerFetch;
  if (token.startsWith("http:")) allowInsecureRequests(client);
  return client;
}

/** An access token that expires sooner is renewed first. */
const REST_MS = 60_000;

/** Tokens that still work: the given ones, or new ones for the refresh token. Throws the errors of openid-client. */
async function freshTokens(client: Configuration, tokens: ProviderTokens, now: Date): Promise<ProviderTokens> {
  const { refresh, expiresAt = Infinity } = tokens;
  if (refresh === undefined || expiresAt > now.getTime() + REST_MS) return tokens;
  return tokensIn(await refreshTokenGrant(client, refresh), now, refresh);
}

async function factsOf(
  host: OAuthHost,
  assignments: readonly RoleAssignment[],
  api: ProviderApi,
): Promise<LoginFacts | LoginRefusal> {
  try {
    const person = await personOf(host, api);
    return isRefusal(person) ? person : await withGroups(person, host, assignments, api);
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    return refuse("unreachable", HOST_TITLES[host.id], host.keys.api);
  }
}

async function personOf(host: OAuthHost, api: ProviderApi): Promise<Person | LoginRefusal> {
  const { id, user, emails } = host;
  const [answer, emailAnswer] = await Promise.all([api("/user"), emails && api(emails.path)]);
  if (isRejected(answer)) return refuse("token-rejected", HOST_TITLES[id]);
  const who = answer.status === 200 ? user.safeParse(answer.body) : undefined;
  if (who?.success !== true) {
    return refuse("not-verified", HOST_TITLES[host.id], "who you are", "Its API did not say: try again in a minute.");
  }
  const { active, ...person } = who.data;
  if (!active) return refuse("inactive", HOST_TITLES[id]);
  if (emails === undefined) return person;
  const email = emailAnswer?.status === 200 ? emails.verified.safeParse(emailAnswer.body) : undefined;
  return email?.success === true
    ? { ...person, email: email.data }
    : refuse("not-verified", HOST_TITLES[host.id], "your e-mail address", emails.hint);
}

async function withGroups(
  person: Person,
  host: OAuthHost,
  assignments: readonly RoleAssignment[],
  api: ProviderApi,
): Promise<LoginFacts | LoginRefusal> {
  const { id, organizations, groups } = host;
  const asked = groupsAskedFor(assignments, id);
  const named = asked.filter(({ name }) => !name.includes("*")).map(({ name }) => name);
  const [orgs, found, listed] = await Promise.all([
    organizations && askMemberships(organizations.allowed, (name) => organizations.ask(api, name, person)),
    askMemberships([...groups.allowed, ...named], (name) => groups.ask(api, name, person)),
    asked.some(({ name }) => name.includes("*")) ? listGroups(api, groups) : { names: [], problem: undefined },
  ]);
  const refusal =
    (orgs && refusalFor(host, "organization", organizations?.allowed ?? [], orgs)) ??
    refusalFor(host, groups.what, groups.allowed, found);
  if (refusal !== undefined) return refusal;
  const proven = [...found].flatMap(([name, { kind }]) => (kind === "member" ? [name] : []));
  const unproven = asked.flatMap(({ pattern, name }) => {
    const answer = found.get(name);
    const problem = name.includes("*") ? listed.problem : answer?.kind === "unproven" ? answer.problem : undefined;
    return problem === undefined ? [] : [[pattern, problem] as const];
  });
  return { provider: id, ...person, groups: [...proven, ...listed.names], unproven: new Map(unproven) };
}

/** The person has to belong to at least one of the names, if there are any; an undecided name could be the one. */
function refusalFor(
  host: OAuthHost,
  what: "organization" | "team" | "group",
  allowed: readonly string[],
  found: ReadonlyMap<string, Membership>,
): LoginRefusal | undefined {
  const answers = allowed.flatMap((name) => found.get(name) ?? []);
  if (allowed.length === 0 || answers.some(({ kind }) => kind === "member")) return undefined;
  const unproven = answers.find((one) => one.kind === "unproven");
  if (unproven !== undefined) {
    return refuse("not-verified", HOST_TITLES[host.id], `whether you belong to an allowed ${what}`, unproven.problem);
  }
  return what === "organization" ? refuse("not-in-organization", allowed) : refuse("not-in-group", what, allowed);
}

/** Parallel calls to a host per login. */
const AT_ONCE = 5;

/** Asks about each name once. A failed call is "unproven", not "none". */
async function askMemberships(
  names: readonly string[],
  ask: (name: string) => Promise<Membership>,
): Promise<ReadonlyMap<string, Membership>> {
  const answer = async (name: string) => [name, await ask(name).catch(unprovenBy)] as const;
  return new Map(await allInTurns([...new Set(names)], answer, AT_ONCE));
}

const PER_PAGE = 100;
const MOST_PAGES = 20;

/** All groups of the person; `problem` says why some may be missing. */
async function listGroups(
  api: ProviderApi,
  { list, names, cure, tooMany }: OAuthHost["groups"],
): Promise<{ readonly names: readonly string[]; readonly problem: string | undefined }> {
  const found: string[] = [];
  try {
    for (let page = 1; page <= MOST_PAGES; page += 1) {
      const answer = await api(`${list}per_page=${PER_PAGE}&page=${page}`);
      const parsed = answer.status === 200 ? names.safeParse(answer.body) : undefined;
      if (parsed?.success !== true) return { names: found, problem: hintFor(answer, cure) };
      found.push(...parsed.data);
      if (parsed.data.length < PER_PAGE) return { names: found, problem: undefined };
    }
    return { names: found, problem: tooMany };
  } catch (error) {
    return { names: found, problem: unprovenBy(error).problem };
  }
}

/** @throws every error that is no `ProviderFailure`. */
function unprovenBy(error: unknown): Extract<Membership, { readonly kind: "unproven" }> {
  if (!(error instanceof ProviderFailure)) throw error;
  return { kind: "unproven", problem: `Its API did not work (${error.message}): try again in a minute.` };
}

/** The teams or groups of one provider that the assignments name, with their patterns. */
export function groupsAskedFor(
  assignments: readonly RoleAssignment[],
  provider: LoginProvider,
): readonly { readonly pattern: string; readonly name: string }[] {
  return assignments.flatMap((assignment) => {
    const meaning = meaningOf(assignment);
    return meaning.kind === "group" && meaning.provider === provider
      ? [{ pattern: assignment.pattern, name: meaning.name }]
      : [];
  });
}

/** Reads a provider's API for one person, by a path below its root. @throws {ProviderFailure} for a missing, too large or redirecting answer. */
type ProviderApi = (path: string) => Promise<ApiAnswer>;

/** Sends the token to `apiUrl` only: redirects are not followed. */
function providerApi(apiUrl: string, token: string, given: Readonly<Record<string, string>>): ProviderApi {
  const headers = { accept: "application/json", ...given, authorization: `Bearer ${token}` };
  return async (path) => {
    const request = fetchText(apiUrl + path, { headers, redirect: "manual" }, PROVIDER_LIMITS);
    const {
      status,
      headers: answered,
      text,
    } = await request.catch((cause: unknown) => {
      const problem = cause instanceof AnswerTooLarge ? "its answer is too large" : "it did not answer";
      throw new ProviderFailure(problem, { cause });
    });
    if (status >= 300 && status < 400) throw new ProviderFailure("it redirects");
    return { status, headers: answered, body: parseJson(text) };
  };
}

/** Whether the provider refused the person's own token: it was revoked, or the account is blocked or gone. */
function isRejected(answer: ApiAnswer): boolean {
  return answer.status === 401 || (answer.status === 403 && !isLimited(answer));
}
