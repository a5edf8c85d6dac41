import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { GroupHooks, GroupMembers, PersonalAccessTokens, ProjectHooks, ProjectMembers, Users } from "@gitbeaker/rest";
import { pino } from "pino";
import * as z from "zod";
import type { HookRequest } from "../config/command-line.js";
import { errorCode } from "../config/files.js";
import { secret, signingSecret } from "../config/schema-parts.js";
import type { Clock } from "../core/ports/clock.js";
import { createGitLabClient, type GitLabClient } from "../hosts/gitlab/client.js";
import { GITLAB } from "../hosts/gitlab/words.js";
import { decodeAnswer, type FailureWords, ifFound, oneLine } from "../hosts/host-answer.js";
import { createLimitWaits } from "../hosts/limit-waits.js";
import { SERVICE, WEBHOOK_PATHS } from "../names.js";
import { nextSteps, SecretFiles, sectionLines, type SetupParts, SetupRefused } from "./setup-parts.js";

const TOKEN = "GITLAB_TOKEN";
const SETUP_TOKEN = "GITLAB_SETUP_TOKEN";
const SIGNING_TOKEN = "GITLAB_SIGNING_TOKEN";
const WEBHOOK_SECRET = "GITLAB_WEBHOOK_SECRET";

/** Creates the webhooks of projects or a group. @returns What was done, and the section of the configuration. @throws {SetupRefused | HostFailure} */
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
    ...sectionLines({ gitlab: section }),
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

/** @throws {SetupRefused} if a role of svc's account does not suffice. */
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
    // Instance administrators may create webhooks everywhere.
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

interface KeptSecret {
  readonly name: typeof SIGNING_TOKEN | typeof WEBHOOK_SECRET;
  readonly text: string;
  /** Path of the file, and whether this run created it. */
  readonly file: string;
  /** Removes the file if this run created it. */
  readonly discard: () => Promise<void>;
}

/** Reuses the secret of earlier runs or creates one. It is on disk before GitLab gets it, so it is never lost. */
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

/** @returns The content of a secret's file; undefined without one. @throws {SetupRefused} if it cannot be read. */
async function readSecret(folder: string, name: string): Promise<string | undefined> {
  const path = join(folder, name);
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw new SetupRefused(`${path}: the file cannot be read (${errorCode(error) ?? "unknown reason"})`);
  }
}

interface WrittenHooks {
  readonly written: readonly { readonly target: HookTarget; readonly hook: WrittenHook }[];
  readonly kept: KeptSecret;
}

/** Prefers signatures. GitLab's version does not tell whether they are on, so it falls back to a secret token. */
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

type HookSecret = { readonly signingToken: string } | { readonly token: string };

interface WrittenHook {
  readonly id: number;
  readonly created: boolean;
  /** Whether GitLab signs its requests. */
  readonly signed: boolean;
  /** Other webhooks of the same address, which deliver everything twice. */
  readonly doubles: readonly number[];
  /** GitLab stopped sending it after failures. */
  readonly disabled: boolean;
}

/** Members of https://docs.gitlab.com/api/project_webhooks/ and https://docs.gitlab.com/api/group_webhooks/ */
const hookSchema = z.object({
  id: z.int().positive(),
  url: z.string(),
  push_events: z.boolean(),
  merge_requests_events: z.boolean(),
  note_events: z.boolean(),
  confidential_note_events: z.boolean().nullish(),
  push_events_branch_filter: z.string().nullish(),
  custom_webhook_template: z.string().nullish(),
  alert_status: z.string().nullish(),
  // GitLab 19.1 and later.
  signing_token_present: z.boolean().nullish(),
});
type Hook = z.output<typeof hookSchema>;

/**
 * Merge request events plan and release locks, comments carry commands, pushes outdate plans; svc needs nothing else.
 */
const EVENTS = {
  pushEvents: true,
  mergeRequestsEvents: true,
  noteEvents: true,
  confidentialNoteEvents: false,
  issuesEvents: false,
  confidentialIssuesEvents: false,
  tagPushEvents: false,
  jobEvents: false,
  pipelineEvents: false,
  wikiPageEvents: false,
  deploymentEvents: false,
  releasesEvents: false,
};

/** Creates or updates the webhook of this address. @throws {SetupRefused} if it would not send what svc needs: GitLab may be too old; `HostFailure`. */
async function writeHook(
  client: GitLabClient,
  target: HookTarget,
  { url, secret }: { readonly url: string; readonly secret: HookSecret },
): Promise<WrittenHook> {
  const listed = await client.read(z.array(hookSchema), `list the webhooks of ${target.path}`, (gitlab) =>
    hooksOf(target, gitlab).all(target.path, { perPage: 100 }),
  );
  const [known, ...doubles] = listed.filter((hook) => sameAddress(hook.url, url));
  const written =
    known === undefined ? await create(client, target, url, secret) : await update(client, target, known, secret);
  refuseUnusable(target, written);
  return {
    id: written.id,
    created: known === undefined,
    signed: written.signing_token_present === true,
    doubles: doubles.map(({ id }) => id),
    disabled: written.alert_status === "disabled" || written.alert_status === "temporarily_disabled",
  };
}

async function create(client: GitLabClient, target: HookTarget, url: string, secret: HookSecret): Promise<Hook> {
  const asked = `create a webhook in ${target.path}`;
  const options = { ...EVENTS, ...secret, name: SERVICE };
  const data = await client.ask(asked, (gitlab) => hooksOf(target, gitlab).add(target.path, url, options));
  return decodeAnswer(hookSchema, data, GITLAB, asked, true);
}

async function update(client: GitLabClient, target: HookTarget, known: Hook, secret: HookSecret): Promise<Hook> {
  const asked = `change the webhook ${known.id} of ${target.path}`;
  // Pushes to filtered branches would outdate plans without svc's knowledge.
  const unfiltered = (known.push_events_branch_filter ?? "") === "" ? {} : { branchFilterStrategy: "all_branches" };
  const options = { ...EVENTS, ...secret, ...unfiltered };
  // Sends the address as GitLab has it: changing it would drop the webhook's secrets.
  const data = await client.ask(asked, (gitlab) =>
    hooksOf(target, gitlab).edit(target.path, known.id, known.url, options),
  );
  return decodeAnswer(hookSchema, data, GITLAB, asked, true);
}

function refuseUnusable({ path }: HookTarget, hook: Hook): void {
  const where = `webhook ${hook.id} of ${path}`;
  const sends = hook.push_events && hook.merge_requests_events && hook.note_events;
  if (!sends || hook.confidential_note_events === true) {
    throw new SetupRefused(
      `GitLab did not take the events of ${where}: set push, comment and ${GITLAB.changeRequest} events in its settings, and no others`,
    );
  }
  if ((hook.custom_webhook_template ?? "") !== "") {
    throw new SetupRefused(
      `${where} has a custom template, and svc cannot read what it sends: delete the template in its settings, and run this again`,
    );
  }
}

function hooksOf({ kind }: HookTarget, gitlab: ConstructorParameters<typeof ProjectHooks>[0]) {
  return kind === "project" ? new ProjectHooks(gitlab) : new GroupHooks(gitlab);
}

/** Compares addresses as browsers read them. */
function sameAddress(one: string, other: string): boolean {
  const [left, right] = [one, other].map((text) => (URL.canParse(text) ? new URL(text).href : text));
  return left === right;
}

type HookTarget = HookRequest["targets"][number];

interface GitLabAccount {
  readonly client: GitLabClient;
  readonly username: string;
  readonly admin: boolean;
  /** GitLab created the account for a token or a service, so no person uses it. */
  readonly bot: boolean;
  /** Facts about the token, for people. */
  readonly tokenFacts: string;
  /** 0 means no member. */
  roleIn(target: HookTarget): Promise<number>;
}

const REQUEST_TIMEOUT_MS = 30_000;

/** https://docs.gitlab.com/api/members/#roles */
const DEVELOPER = 30;
const MAINTAINER = 40;
const OWNER = 50;
const ROLES: Readonly<Record<number, string>> = {
  0: "no role",
  5: "Minimal access",
  10: "Guest",
  15: "Planner",
  20: "Reporter",
  25: "Security manager",
  [DEVELOPER]: "Developer",
  [MAINTAINER]: "Maintainer",
  [OWNER]: "Owner",
};

function roleName(level: number): string {
  return ROLES[level] ?? `access level ${level}`;
}

const tokenSchema = z.object({ scopes: z.array(z.string()), expires_at: z.iso.date().nullish() });
const userSchema = z.object({
  id: z.int().positive(),
  username: z.string().min(1).max(255),
  bot: z.boolean().nullish(),
  is_admin: z.boolean().nullish(),
});
const memberSchema = z.object({ state: z.string(), access_level: z.number() });

/** @throws {SetupRefused} if the token lacks the scope `api`; `HostFailure` if GitLab refuses it. */
async function gitlabAccount(
  url: string,
  { source, token }: { readonly source: string; readonly token: string },
  clock: Clock,
): Promise<GitLabAccount> {
  const waits = createLimitWaits(clock, pino({ level: "silent" }));
  const words: FailureWords = {
    ...GITLAB,
    credentials: `the token of ${source}`,
    credentialsCure: "it may be incomplete, expired or revoked.",
    permissionCure:
      "the token needs the scope api; a webhook of a project needs the role Maintainer, one of a group Owner.",
    visibilityCure:
      "check the path. Webhooks of groups need GitLab Premium; without it, name each project with --project.",
    addressKey: "--gitlab",
  };
  const client = createGitLabClient({ url, token, requestTimeoutMs: REQUEST_TIMEOUT_MS, clock, waits, words });
  // GitLab older than 15.5 answers 404.
  const facts = await ifFound(
    client.read(tokenSchema, `read the scopes of the token of ${source}`, (gitlab) =>
      new PersonalAccessTokens(gitlab).show(),
    ),
  );
  if (facts !== undefined && !facts.scopes.includes("api")) {
    const scopes = facts.scopes.map((scope) => oneLine(scope, 40)).join(", ");
    throw new SetupRefused(
      `the token of ${source} has the scopes ${scopes}, and svc needs the scope api: create a token that has it, and run this again`,
    );
  }
  const user = await client.read(userSchema, `read the account of the token of ${source}`, (gitlab) =>
    new Users(gitlab).showCurrentUser(),
  );
  return {
    client,
    username: oneLine(user.username, 100),
    admin: user.is_admin === true,
    bot: user.bot === true,
    tokenFacts: facts === undefined ? "of which this GitLab tells nothing" : `scope api, ${expiryOf(facts.expires_at)}`,
    roleIn: (target) => roleIn(client, target, user.id),
  };
}

function expiryOf(day: string | null | undefined): string {
  return typeof day === "string" ? `expires on ${day}: replace it before` : "does not expire";
}

/** Counts direct, inherited and invited membership. */
async function roleIn(client: GitLabClient, { kind, path }: HookTarget, user: number): Promise<number> {
  const inherited = { includeInherited: true } as const;
  const member = await ifFound(
    client.read(memberSchema, `read the role in ${path}`, (gitlab) =>
      kind === "project"
        ? new ProjectMembers(gitlab).show(path, user, inherited)
        : new GroupMembers(gitlab).show(path, user, inherited),
    ),
  );
  return member?.state === "active" ? member.access_level : 0;
}
