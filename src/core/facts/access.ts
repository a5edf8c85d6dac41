import type { ChangeRequest, User } from "../model/change-request.js";
import type { DeployingCommand } from "../model/command.js";
import { type Member, ruledAs, whyBound } from "../model/effect.js";
import { HostFailure, only } from "../model/errors.js";
import type { BarredApplication } from "../model/result.js";
import type { AccessCommand, AccessRule, Settings } from "../model/settings.js";
import { accessRulesFor, definedInOf, type Deployed } from "../policy/effect-rules.js";
import type { CodeHost } from "../ports/code-host.js";

/** The person who gives a command, and the rules that hold for it. */
export interface AccessContext {
  readonly change: ChangeRequest;
  readonly settings: Settings;
  readonly host: CodeHost;
  readonly user: User;
}

/** Whether commands need write access to the repository; they always do on a fork's change request. */
export function needsWriteAccess({ commandAccess }: Pick<Settings, "commandAccess">, change: ChangeRequest): boolean {
  return commandAccess === "write" || change.fork;
}

/** The applications for which `allowed_users` and `allowed_teams` bar this person, or the host cannot tell; it is asked once per list of teams. */
export async function barredFrom(
  command: AccessCommand,
  deployed: readonly Deployed[],
  context: AccessContext,
): Promise<readonly BarredApplication[]> {
  const { user } = context;
  const settings = await context.settings.including(definedInOf(deployed));
  const asked = new Map<string, Promise<Membership>>();
  const restricted = deployed.flatMap((one) => restrictedBy(one, command, settings));
  const found = await Promise.all(
    restricted.map(async ({ allowed, ...one }): Promise<readonly BarredApplication[]> => {
      const needed = allowed.filter((rule) => !namesUser(rule, user));
      const memberships = await Promise.all(needed.map(({ teams }) => membershipOf(teams)));
      if (memberships.every(({ member }) => member)) return [];
      return [{ ...one, allowed, problem: memberships.find(({ problem }) => problem !== undefined)?.problem }];
    }),
  );
  return found.flat();

  function membershipOf(teams: readonly string[]): Promise<Membership> {
    const key = JSON.stringify(teams);
    const membership = asked.get(key) ?? membershipIn(teams, context);
    asked.set(key, membership);
    return membership;
  }
}

function restrictedBy(
  { application, members, definedIn }: Deployed,
  command: AccessCommand,
  settings: Settings,
): readonly Omit<BarredApplication, "problem">[] {
  if (members.length === 0) {
    return [{ application, allowed: settings.accessTo({ name: application, definedIn }, command) }];
  }
  return members.map((member) => {
    const rules = { allowed: accessRulesFor(member, command, settings), because: boundBy(member, command, settings) };
    const name = member.application;
    return name === application ? { application, ...rules } : { application: name, through: application, ...rules };
  });
}

/** The first application whose rules bar somebody whom the member's own do not bar, as a clause. */
function boundBy(member: Member, command: AccessCommand, settings: Settings): string | undefined {
  const known = new Set(settings.accessTo(ruledAs(member), command).map((rule) => JSON.stringify(rule)));
  const bound = member.boundAs.find((one) =>
    settings.accessTo(ruledAs(one), command).some((rule) => !known.has(JSON.stringify(rule))),
  );
  return bound && whyBound(bound);
}

/**
 * Whether the command runs without the approval that its rules require: a dry run deploys nothing, and reviewers want to
 * see it before they approve. Only for people with write access, also where other commands do not need that, and not
 * while nobody knows the rules.
 */
export async function needsNoApproval(
  { dryRun }: DeployingCommand,
  { settings, change, host, user }: AccessContext,
): Promise<boolean> {
  if (!dryRun || settings.needsAdministrator) return false;
  return needsWriteAccess(settings, change) || host.mayCommand(change, user);
}

/** Whether a rule allows one of these people. If the host cannot tell about teams, it does not. */
export async function allowsAny(
  rule: AccessRule,
  people: readonly User[],
  context: Pick<AccessContext, "host" | "change">,
): Promise<boolean> {
  if (people.some((person) => namesUser(rule, person))) return true;
  const found = await Promise.all(people.map((user) => membershipIn(rule.teams, { ...context, user })));
  return found.some(({ member }) => member);
}

interface Membership {
  readonly member: boolean;
  /** Why the host could not answer. */
  readonly problem: string | undefined;
}

async function membershipIn(
  teams: readonly string[],
  { host, change, user }: Pick<AccessContext, "host" | "change" | "user">,
): Promise<Membership> {
  if (teams.length === 0) return { member: false, problem: undefined };
  const answer = host.belongsToAny(change, user, teams).then((member) => ({ member, problem: undefined }));
  return answer.catch(only(HostFailure, ({ message }) => ({ member: false, problem: message })));
}

function namesUser({ users }: AccessRule, { login }: User): boolean {
  return users.some((name) => name.toLowerCase() === login.toLowerCase());
}
