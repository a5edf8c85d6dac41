import { createServer } from "node:http";
import * as z from "zod";
import type { CheckResult } from "../config/check.js";
import type { AppRequest, SetupRequest } from "../config/command-line.js";
import { type AppManifest, appManifest } from "../config/server/app-manifest.js";
import { privateKey } from "../config/server/server-parts.js";
import { HostFailure } from "../core/model/errors.js";
import { parseJson } from "../core/model/json.js";
import type { Clock } from "../core/ports/clock.js";
import { GITHUB } from "../hosts/github/words.js";
import { decodeAnswer, type FailureWords, refusalMessage, refusalOf } from "../hosts/host-answer.js";
import { createHostFetch } from "../hosts/host-fetch.js";
import { CannotStart, listen } from "../http/listen.js";
import { HOST_PREFIXES, SERVICE } from "../names.js";
import { createWebhooks } from "./create-webhooks.js";
import { OneTimeCode, registrationSite } from "./registration-site.js";
import { nextSteps, SecretFiles, sectionLines, type SetupParts, SetupRefused } from "./setup-parts.js";

/** Prepares a code host for svc. @returns What the operator has to know at the end. */
export async function setUp(request: SetupRequest, parts: SetupParts): Promise<CheckResult> {
  try {
    return { lines: await start(request, parts), exitCode: 0 };
  } catch (error) {
    // Their messages are written for people and hold no secret.
    const known = error instanceof SetupRefused || error instanceof HostFailure || error instanceof CannotStart;
    if (!known) throw error;
    return { lines: [error.message], exitCode: 1 };
  }
}

function start(request: SetupRequest, parts: SetupParts): Promise<readonly string[]> {
  switch (request.host) {
    case "hosta":
      return registerApp(request, parts);
    case "hostb":
      return createWebhooks(request, parts);
  }
}

const PRIVATE_KEY = "GITHUB_APP_PRIVATE_KEY";
const WEBHOOK_SECRET = "GITHUB_WEBHOOK_SECRET";

/** How often an App without a webhook has svc ask GitHub what happened. */
const POLL = "15s";
/** GitHub's own limit for a registration. */
const LIFETIME_MS = 60 * 60_000;
/** GitHub refuses a longer name of an App. */
const LONGEST_NAME = 34;

type Outcome =
  | { readonly kind: "registered"; readonly app: RegisteredApp; readonly files: readonly string[] }
  | { readonly kind: "failed"; readonly error: unknown };

/** Serves the pages that register a GitHub App. @returns What was done, and the configuration's section. @throws {SetupRefused | CannotStart} */
async function registerApp(request: AppRequest, { clock, print }: SetupParts): Promise<readonly string[]> {
  // Reserve the files first: a key that cannot be stored must not be created.
  await (await SecretFiles.create(request.secrets, secretsOf(request))).discard();
  const until = clock.now().getTime() + LIFETIME_MS;
  const code = new OneTimeCode(until);
  let outcome: Outcome | undefined;
  let settle: (outcome: Outcome) => void = () => undefined;
  const ended = new Promise<Outcome>((resolve) => {
    settle = resolve;
  });
  const site = registrationSite({
    web: request.web,
    organization: request.organization,
    manifest: (redirectUrl) => manifestFor(request, redirectUrl),
    attempt: (given) => {
      const attempt = code.attempt(given, clock.now().getTime());
      if (attempt === "locked") outcome = { kind: "failed", error: new SetupRefused(LOCKED) };
      return attempt;
    },
    register: async (given) => {
      try {
        const { app, files } = await register(request, given, clock);
        outcome = { kind: "registered", app, files };
        return app;
      } catch (error) {
        if (!(error instanceof SetupRefused) || error.final) outcome = { kind: "failed", error };
        throw error;
      }
    },
    onAnswered: () => {
      if (outcome !== undefined) settle(outcome);
    },
  });
  const server = createServer(site);
  await listen(server, { ...request.listen, key: "--port" });
  const over = new AbortController();
  try {
    const address = server.address();
    print(
      invitation(
        typeof address === "object" && address !== null ? address.port : request.listen.port,
        code.text,
        until,
      ),
    );
    const expired = clock.sleep(LIFETIME_MS, over.signal).then((): Outcome => EXPIRED);
    const end = await Promise.race([ended, expired]);
    if (end.kind === "failed") throw end.error;
    return summary(request, end.app, end.files);
  } finally {
    over.abort();
    server.close();
    server.closeAllConnections();
  }
}

const LOCKED = `somebody typed five wrong codes, so setup has ended and registered nothing. If that was not you, another program or person can reach the page. Start again.`;
const EXPIRED: Outcome = {
  kind: "failed",
  error: new SetupRefused("an hour has passed and no App was registered, so setup has ended: start it again"),
};

function secretsOf({ url }: AppRequest): readonly string[] {
  return url === undefined ? [PRIVATE_KEY] : [PRIVATE_KEY, WEBHOOK_SECRET];
}

/** @throws {SetupRefused} */
async function register(request: AppRequest, code: string, clock: SetupParts["clock"]) {
  const files = await SecretFiles.create(request.secrets, secretsOf(request));
  const app = await fetchRegisteredApp(request, code, clock).catch(async (error: unknown) => {
    await files.discard();
    throw error instanceof HostFailure ? new SetupRefused(error.message) : error;
  });
  try {
    const texts = { [PRIVATE_KEY]: app.privateKey, [WEBHOOK_SECRET]: app.webhookSecret };
    return { app, files: await files.write(texts) };
  } catch (error) {
    if (!(error instanceof SetupRefused)) throw error;
    const cure = `The App ${app.slug} is registered, and its key is lost: delete the App at GitHub, and start again.`;
    throw new SetupRefused(`${error.message}. ${cure}`, { final: true });
  }
}

function manifestFor(request: AppRequest, redirectUrl: string): AppManifest {
  const { url, web, organization, publicFor } = request;
  const home = url ?? `${web}/${organization ?? ""}`;
  return appManifest({ name: nameOf(request), url: home, hooks: url, redirectUrl, isPublic: publicFor !== undefined });
}

/** Prefers `<service>-<organization>`: names of Apps are unique on GitHub, so that of `app.yml` is rarely free. */
function nameOf({ name, organization }: AppRequest): string | undefined {
  return name ?? (organization === undefined ? undefined : `${SERVICE}-${organization}`.slice(0, LONGEST_NAME));
}

function invitation(port: number, code: string, until: number): readonly string[] {
  return [
    `Open http://127.0.0.1:${port}/ in a browser, and type this code there:`,
    "",
    `    ${code}`,
    "",
    `It works once, until ${new Date(until).toISOString().slice(11, 16)} UTC. Ctrl-C ends setup.`,
    `If the browser runs on another machine, forward the port from there: ssh -L ${port}:127.0.0.1:${port} <this machine>`,
    "",
  ];
}

function summary(
  { web, url, secrets, publicFor }: AppRequest,
  app: RegisteredApp,
  files: readonly string[],
): readonly string[] {
  const section = {
    app_id: app.id,
    private_key: `\${${PRIVATE_KEY}}`,
    ...(url === undefined ? { poll: POLL } : { webhook_secret: `\${${WEBHOOK_SECRET}}` }),
    ...(web === "https://github.com" ? {} : { api_url: apiOf(web), web_url: web }),
  };
  return [
    `App      ${app.slug}, id ${app.id}`,
    ...files.map((path) => `secret   ${path} (new, mode 0600)`),
    ...sectionLines({
      github: section,
      ...(publicFor && { defaults: { allowed_repos: publicFor.map((one) => `${HOST_PREFIXES.hosta[0]}:${one}`) } }),
    }),
    ...nextSteps([`Install the App on the repositories: ${app.installUrl}`], secrets),
  ];
}

/** An App that GitHub has just registered. GitHub shows its secrets only once. */
interface RegisteredApp {
  readonly id: number;
  readonly slug: string;
  readonly privateKey: string;
  /** Empty without a webhook. */
  readonly webhookSecret: string;
  /** Address where the owner chooses repositories. */
  readonly installUrl: string;
}

/** Root of the REST API, without a trailing slash. */
function apiOf(web: string): string {
  const { hostname } = new URL(web);
  if (hostname === "github.com") return "https://api.github.com";
  // https://docs.github.com/enterprise-cloud@latest/admin/data-residency/network-details-for-ghecom
  return hostname.endsWith(".ghe.com") ? `https://api.${hostname}` : `${web}/api/v3`;
}

const REQUEST_TIMEOUT_MS = 30_000;

const WORDS: FailureWords = {
  ...GITHUB,
  credentials: "to answer without credentials",
  credentialsCure: "register the App by hand, as the installation guide describes.",
  permissionCure: "register the App by hand, as the installation guide describes.",
  visibilityCure: "its code was used already, or is older than an hour. Start again on the page before.",
  addressKey: "--github",
};

const pem = z
  .string()
  .max(16_384)
  .transform((text) => privateKey(() => "").safeParse(text))
  .refine(({ success }) => success)
  .transform(({ data }) => data ?? "");
const appSchema = z.object({
  id: z.int().positive(),
  slug: z.string().regex(/^[A-Za-z0-9_-]{1,255}$/),
  pem,
  // An App without a webhook has none.
  webhook_secret: z
    .string()
    .regex(/^[!-~]{1,1024}$/)
    .nullish(),
  html_url: z.string().max(2048),
});

/**
 * Fetches the secrets of a registered App; GitHub answers once, within an hour:
 * https://docs.github.com/rest/apps/apps#create-a-github-app-from-a-manifest @param code Letters and digits from
 * GitHub's redirect. @throws {HostFailure}
 */
async function fetchRegisteredApp(
  { web, url }: Pick<AppRequest, "web" | "url">,
  code: string,
  clock: Clock,
): Promise<RegisteredApp> {
  const asked = "hand over the key of the new App";
  const api = apiOf(web);
  const hostFetch = createHostFetch({
    words: WORDS,
    origin: new URL(api).origin,
    clock,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    isRead: () => false,
    followsOwnRedirects: false,
    waits: () => ({ extend: () => undefined, end: () => undefined }),
  });
  const response = await hostFetch(`${api}/app-manifests/${encodeURIComponent(code)}/conversions`, {
    method: "POST",
    headers: { accept: "application/vnd.github+json", "user-agent": SERVICE },
  });
  const text = await response.text();
  if (!response.ok) {
    throw refusalOf(WORDS, asked, {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      message: refusalMessage(text),
      changing: true,
      now: clock.now(),
    });
  }
  try {
    const app = decodeAnswer(appSchema, parseJson(text), WORDS, asked, true);
    const { id, slug, webhook_secret: webhookSecret } = app;
    if (!webhookSecret && url !== undefined) throw new HostFailure("failed", "GitHub named no secret of the webhook.");
    return {
      id,
      slug,
      privateKey: app.pem,
      webhookSecret: webhookSecret ?? "",
      installUrl: installUrl(web, app.html_url, slug),
    };
  } catch (error) {
    if (!(error instanceof HostFailure)) throw error;
    const cure = "Delete the new App at GitHub, and register one by hand, as the installation guide describes.";
    throw new HostFailure(error.reason, `${error.message} ${cure}`, { cause: error });
  }
}

/** Takes the address from GitHub, since self-hosted servers use another path than github.com. */
function installUrl(web: string, htmlUrl: string, slug: string): string {
  const own = URL.canParse(htmlUrl) && new URL(htmlUrl).origin === new URL(web).origin;
  return own
    ? `${new URL(htmlUrl).href.replace(/[?#].*$/, "")}/installations/new`
    : `${web}/settings/apps/${slug}/installations`;
}
