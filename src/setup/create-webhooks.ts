import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { secret, signingSecret } from "../config/schema-parts.js";
import type { HookRequest } from "../config/setup-arguments.js";
import { GITLAB } from "../hosts/gitlab/words.js";
import { SERVICE, WEBHOOK_PATHS } from "../names.js";
import {
  DEVELOPER,
  gitlabAccount,
  MAINTAINER,
  OWNER,
  roleName,
  type GitLabAccount,
  type HookTarget,
} from "./gitlab-account.js";
import { writeHook, type HookSecret, type WrittenHook } from "./gitlab-hook.js";
import { readSecret, SecretFiles } from "./secret-files.js";
import { nextSteps, sectionLines } from "./section.js";
import type { SetupParts } from "./setup-parts.js";
import { SetupRefused } from "./setup-refused.js";

const TOKEN = "GITLAB_TOKEN";
const SETUP_TOKEN = "GITLAB_SETUP_TOKEN";
const SIGNING_TOKEN = "GITLAB_SIGNING_TOKEN";
const WEBHOOK_SECRET = "GITLAB_WEBHOOK_SECRET";

/**
 * Checks the token of svc's account, and gives projects or a group the webhook.
 * @returns What was done, and the section of the configuration. @throws {SetupRefused | HostFailure}
 */
export async function createWebhooks(request: HookRequest, parts: SetupParts): Promise<readonly string[]> {
  const { web, targets, secrets } = request;
  const own = await gitlabAccount(web, await ownToken(request, parts), parts.clock);
  const setupToken = (parts.env[SETUP_TOKEN] ?? "").trim();
  const maker =
    setupToken === "" ? own : await gitlabAccount(web, { source: SETUP_TOKEN, token: setupToken }, parts.clock);
  const roles = await checkRoles(own, maker, targets);
  const { written, kept } = await writeHooks(maker, request);
  const lines = [
    `token    of @${own.username}, ${own.tokenFacts}`,
    ...(own.bot ? [] : [`         svc ignores comments of @${own.username}: nobody else should use this account`]),
    ...targets.map(({ path }, index) => `role     ${roleName(roles[index] ?? 0)} in ${path}`),
    ...written.flatMap(({ target, hook }) => hookLines(target, hook, request.url)),
    `secret   ${kept.file}`,
  ];
  const section = {
    ...(web === "https://gitlab.com" ? {} : { url: web }),
    token: `\${${TOKEN}}`,
    [kept.name === SIGNING_TOKEN ? "signing_token" : "webhook_secret"]: `\${${kept.name}}`,
  };
  const token = join(secrets, TOKEN);
  return [
    ...lines,
    ...sectionLines("hostb", section),
    ...nextSteps([`Store the token in ${token} as well, if it is not there.`], secrets),
  ];
}

async function ownToken({ tokenFromStdin }: HookRequest, { env, stdin }: SetupParts) {
  const token = (tokenFromStdin ? await stdin() : (env[TOKEN] ?? "")).trim();
  if (token === "") {
    const cure = `create a token with the scope api for svc's account, and give it in the variable ${TOKEN} or with --token-stdin`;
    throw new SetupRefused(`there is no token: ${cure}`);
  }
  return { source: tokenFromStdin ? "standard input" : TOKEN, token };
}

/** The roles of svc's own account. @throws {SetupRefused} if one does not suffice. */
async function checkRoles(
  own: GitLabAccount,
  maker: GitLabAccount,
  targets: readonly HookTarget[],
): Promise<readonly number[]> {
  const roles: number[] = [];
  for (const target of targets) {
    const role = await own.roleIn(target);
    if (role < DEVELOPER) {
      throw new SetupRefused(
        `@${own.username} has ${roleName(role)} in ${target.path}, and svc needs Developer there, or Maintainer to merge into ` +
          "branches that only maintainers may merge into: add the account with that role, and run this again",
      );
    }
    // Instance administrators may do it everywhere.
    const needed = target.kind === "project" ? MAINTAINER : OWNER;
    const makes = maker === own ? role : await maker.roleIn(target);
    if (makes < needed && !maker.admin) {
      throw new SetupRefused(
        `a webhook of ${target.path} needs the role ${roleName(needed)}, and @${maker.username} has ${roleName(makes)} there: ` +
          `give somebody's token who may create it in ${SETUP_TOKEN}, which this command alone uses, and run this again`,
      );
    }
    roles.push(role);
  }
  return roles;
}

/** The secret of every webhook of svc, in its file. */
interface KeptSecret {
  readonly name: typeof SIGNING_TOKEN | typeof WEBHOOK_SECRET;
  readonly text: string;
  /** The file, and whether this run made it. */
  readonly file: string;
  /** Removes the file if this run made it. */
  readonly discard: () => Promise<void>;
}

/** The secret of earlier runs, or a new one: it is in its file before GitLab gets it, so that it is never lost. */
async function keptSecret(folder: string, name: KeptSecret["name"]): Promise<KeptSecret> {
  const path = join(folder, name);
  const known = await readSecret(folder, name);
  if (known === undefined) {
    const signs = name === SIGNING_TOKEN;
    const text = signs ? `whsec_${randomBytes(32).toString("base64")}` : randomBytes(32).toString("hex");
    const files = await SecretFiles.create(folder, [name]);
    await files.write({ [name]: text });
    return { name, text, file: `${path} (new, mode 0600)`, discard: () => files.discard() };
  }
  if (!(name === SIGNING_TOKEN ? signingSecret("") : secret()).safeParse(known).success) {
    throw new SetupRefused(
      `${path} is no secret that ${SERVICE} takes, perhaps because of a line break at its end: move it away, and run this again`,
    );
  }
  return { name, text: known, file: `${path}, which was there already`, discard: () => Promise.resolve() };
}

interface WrittenHooks {
  readonly written: readonly { readonly target: HookTarget; readonly hook: WrittenHook }[];
  readonly kept: KeptSecret;
}

/** With signatures if GitLab makes them, which its version does not tell: they may be off. Else with a secret token. */
async function writeHooks(maker: GitLabAccount, { url: base, targets, secrets }: HookRequest): Promise<WrittenHooks> {
  const url = `${base}${WEBHOOK_PATHS.hostb}`;
  const writeAll = async (proof: HookSecret) => {
    const written: { target: HookTarget; hook: WrittenHook }[] = [];
    for (const target of targets) {
      written.push({ target, hook: await writeHook(maker.client, target, { url, secret: proof }) });
    }
    return written;
  };
  const signing = await keptSecret(secrets, SIGNING_TOKEN);
  const first = await writeAll({ signingToken: signing.text });
  if (first.every(({ hook }) => hook.signed)) return { written: first, kept: signing };
  await signing.discard();
  const plain = await keptSecret(secrets, WEBHOOK_SECRET);
  const second = await writeAll({ token: plain.text });
  const written = second.map(({ target, hook }, index) => ({
    target,
    hook: { ...hook, signed: false, created: first[index]?.hook.created ?? false },
  }));
  return { written, kept: plain };
}

function hookLines({ path }: HookTarget, hook: WrittenHook, base: string): readonly string[] {
  const proof = hook.signed ? "signed" : "with a secret token";
  const done = hook.created ? "created" : "existed, and is up to date now";
  return [
    `webhook  ${hook.id} of ${path} ${done}: ${base}${WEBHOOK_PATHS.hostb}, ${GITLAB.changeRequest}s, comments and pushes, ${proof}`,
    ...hook.doubles.map(
      (id) => `         delete webhook ${id} of ${path}: it has the same address, so ${SERVICE} gets everything twice`,
    ),
    ...(hook.disabled
      ? [`         GitLab has disabled it after failures: send a test event from its settings once ${SERVICE} runs`]
      : []),
  ];
}
