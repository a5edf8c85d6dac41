import { GroupMembers, PersonalAccessTokens, ProjectMembers, Users } from "@gitbeaker/rest";
import { pino } from "pino";
import * as z from "zod";
import type { HookRequest } from "../config/command-line.js";
import type { Clock } from "../core/ports/clock.js";
import { createGitLabClient, type GitLabClient } from "../hosts/gitlab/client.js";
import { GITLAB } from "../hosts/gitlab/words.js";
import { type FailureWords, ifFound, oneLine } from "../hosts/host-answer.js";
import { createLimitWaits } from "../hosts/limit-waits.js";
import { SetupRefused } from "./setup-parts.js";

export type HookTarget = HookRequest["targets"][number];

/** A token and the account behind it. */
export interface GitLabAccount {
  readonly client: GitLabClient;
  /** Where the token comes from, for messages. */
  readonly source: string;
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
export const DEVELOPER = 30;
export const MAINTAINER = 40;
export const OWNER = 50;
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

export function roleName(level: number): string {
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
export async function gitlabAccount(
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
    source,
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
