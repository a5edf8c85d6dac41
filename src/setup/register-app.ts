import { createServer } from "node:http";
import { appManifest } from "../config/server/app-manifest.js";
import type { AppRequest } from "../config/setup-arguments.js";
import { HostFailure } from "../core/model/errors.js";
import { listen } from "../http/listen.js";
import { SERVICE } from "../names.js";
import { apiOf, fetchRegisteredApp, type RegisteredApp } from "./github-app.js";
import { OneTimeCode } from "./one-time-code.js";
import { registrationSite, type RegistrationSite } from "./registration-site.js";
import { SecretFiles } from "./secret-files.js";
import { nextSteps, sectionLines } from "./section.js";
import type { SetupParts } from "./setup-parts.js";
import { SetupRefused } from "./setup-refused.js";

const PRIVATE_KEY = "GITHUB_APP_PRIVATE_KEY";
const WEBHOOK_SECRET = "GITHUB_WEBHOOK_SECRET";

/** GitHub gives as long for the whole registration. */
const LIFETIME_MS = 60 * 60_000;
/** GitHub refuses a longer name of an App. */
const LONGEST_NAME = 34;

/** How the registration ended. */
type Outcome =
  | { readonly kind: "registered"; readonly app: RegisteredApp; readonly files: readonly string[] }
  | { readonly kind: "failed"; readonly error: unknown };

/**
 * Serves the pages that lead through the registration of a GitHub App, until it is registered or an hour has passed.
 * @returns What was done, and the section of the configuration. @throws {SetupRefused | CannotListen}
 */
export async function registerApp(request: AppRequest, { clock, print }: SetupParts): Promise<readonly string[]> {
  // A key that cannot be kept must not be made.
  await (await SecretFiles.create(request.secrets, [PRIVATE_KEY, WEBHOOK_SECRET])).discard();
  const until = clock.now().getTime() + LIFETIME_MS;
  const code = new OneTimeCode(until);
  let outcome: Outcome | undefined;
  let settle: (outcome: Outcome) => void = () => undefined;
  const ended = new Promise<Outcome>((resolve) => {
    settle = resolve;
  });
  const site: RegistrationSite = {
    web: request.web,
    organization: request.organization,
    manifest: (redirectUrl) => appManifest({ name: nameOf(request), url: request.url, redirectUrl }),
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
  };
  const server = createServer(registrationSite(site));
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

const LOCKED = `somebody typed five wrong codes, so setup has ended and registered nothing. If that was not you, another program or person reaches the page. Start again.`;
const EXPIRED: Outcome = {
  kind: "failed",
  error: new SetupRefused("an hour has passed and no App was registered, so setup has ended: start it again"),
};

/** @throws {SetupRefused} */
async function register({ web, secrets }: AppRequest, code: string, clock: SetupParts["clock"]) {
  const files = await SecretFiles.create(secrets, [PRIVATE_KEY, WEBHOOK_SECRET]);
  const app = await fetchRegisteredApp(web, code, clock).catch(async (error: unknown) => {
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

/** Names of Apps are taken once and for all, so that of `app.yml` seldom is free. */
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

function summary({ web, secrets }: AppRequest, app: RegisteredApp, files: readonly string[]): readonly string[] {
  const section = {
    app_id: app.id,
    private_key: `\${${PRIVATE_KEY}}`,
    webhook_secret: `\${${WEBHOOK_SECRET}}`,
    ...(web === "https://github.com" ? {} : { api_url: apiOf(web), web_url: web }),
  };
  return [
    `App      ${app.slug}, id ${app.id}`,
    ...files.map((path) => `secret   ${path} (new, mode 0600)`),
    ...sectionLines("hosta", section),
    ...nextSteps([`Install the App on the repositories: ${app.installUrl}`], secrets),
  ];
}
