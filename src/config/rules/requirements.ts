import type {
  AccessCommand,
  AccessRule,
  HealthRule,
  Requirements,
  RuledApplication,
  SYNC_ON,
} from "../../core/model/settings.js";
import type { RepositoryConfig } from "../repository/repository-schema.js";
import type { ServerDefaults } from "../server/server.js";
import { matchOf, placeOf } from "./rule-match.js";

/** `from`: whose it is, if not the repository's. */
type Entry = RepositoryConfig["syncRequirements"][number] & Pick<AccessRule, "from">;

/** Commands that an entry without `commands` restricts. */
const BOUND_BY_DEFAULT: readonly AccessCommand[] = ["sync", "rollback"];

/** Combines requirements so that all of them hold. */
export function strictest(all: readonly Requirements[]): Requirements {
  return {
    requireApproval: all.some(({ requireApproval }) => requireApproval),
    requireUpToDate: all.some(({ requireUpToDate }) => requireUpToDate),
    health: strictestHealth(all.flatMap(({ health }) => health ?? [])),
    onApproval: all.length > 0 && all.every(({ onApproval }) => onApproval === true) ? true : undefined,
  };
}

/** Takes the shortest time, and rolls back only if every rule says so. */
function strictestHealth(rules: readonly HealthRule[]): HealthRule | undefined {
  if (rules.length === 0) return undefined;
  return {
    timeoutMs: Math.min(...rules.map(({ timeoutMs }) => timeoutMs)),
    onFailure: rules.every(({ onFailure }) => onFailure === "rollback") ? "rollback" : "keep",
  };
}

/** What the policies require of an application. What the server's `floor` says is a default for silent ones, and holds beside the others. */
export function requirementsIn(
  policies: readonly RepositoryConfig[],
  application: RuledApplication,
  floor: RepositoryConfig,
  defaults: ServerDefaults,
): Requirements {
  const { onApproval, health } = requirementsOf(application, floor, { ...defaults, ...NOTHING_REQUIRED });
  const own = { ...defaults, ...healthDefaults(health), syncOn: onApproval ? "approval" : "command" } as const;
  const files = strictest(policies.map((one) => requirementsOf(application, one, defaultsIn(one, application, own))));
  // The floor's `health_timeout` and `on_failure` also hold where only the files require health.
  return strictest([files, requiredBeside(files, application, floor, defaults)]);
}

/** The defaults of an application. A sync waits for its health if a later stage waits for that. */
function defaultsIn(
  { stages = [] }: RepositoryConfig,
  { name }: RuledApplication,
  defaults: RequirementDefaults,
): RequirementDefaults {
  const isFollowed = stages.length > 0 && placeOf(name, stages) < stages.length - 1;
  return isFollowed ? { ...defaults, requireHealthy: true } : defaults;
}

/**
 * Finds what a sync of an application requires, one requirement at a time: the exact entry wins, then the first
 * matching pattern, then the repository, then the server. Entries that may match only add requirements, and a
 * repository cannot lift the server's health requirement.
 */
function requirementsOf(
  application: RuledApplication,
  policy: RepositoryConfig,
  defaults: RequirementDefaults,
): Requirements {
  const required = (key: "requireApproval" | "requireUpToDate"): boolean => {
    const { certain, possible } = decisive(policy.syncRequirements, application, (entry) => entry[key]);
    return possible.includes(true) || (certain ?? policy[key] ?? defaults[key]);
  };
  return {
    requireApproval: required("requireApproval"),
    requireUpToDate: required("requireUpToDate"),
    health: healthRuleOf(application, policy, defaults),
    onApproval: startsOnApproval(application, policy, defaults) ? true : undefined,
  };
}

/** What another file adds to the requirements of an application; it takes over the `health_timeout` and `on_failure` that it does not set. */
export function requiredBeside(
  { health }: Requirements,
  application: RuledApplication,
  file: RepositoryConfig,
  defaults: RequirementDefaults,
): Requirements {
  const nothing = { ...defaults, ...NOTHING_REQUIRED, syncOn: "approval" } as const;
  return requirementsOf(application, file, { ...nothing, ...healthDefaults(health) });
}

/** The defaults of a file that requires only what it names. */
const NOTHING_REQUIRED = { requireApproval: false, requireUpToDate: false, requireHealthy: false };

/** The defaults with the health that this rule requires of everything. */
function healthDefaults(
  health: HealthRule | undefined,
): Pick<RequirementDefaults, "requireHealthy" | "healthTimeout" | "onFailure"> | undefined {
  return health && { requireHealthy: true, healthTimeout: health.timeoutMs, onFailure: health.onFailure };
}

type RequirementDefaults = Pick<
  ServerDefaults,
  "requireApproval" | "requireUpToDate" | "requireHealthy" | "healthTimeout" | "onFailure"
> & {
  /** `command` if absent. */
  readonly syncOn?: (typeof SYNC_ON)[number];
};

/** An entry that only may match lets no approval start a sync, and one that does say so must match for certain. */
function startsOnApproval(application: RuledApplication, policy: RepositoryConfig, defaults: RequirementDefaults) {
  const { certain, possible } = decisive(policy.syncRequirements, application, ({ syncOn }) => syncOn);
  return !possible.includes("command") && (certain ?? policy.syncOn ?? defaults.syncOn) === "approval";
}

function healthRuleOf(
  application: RuledApplication,
  policy: RepositoryConfig,
  defaults: RequirementDefaults,
): HealthRule | undefined {
  const found = <T>(valueOf: (entry: Entry) => T | undefined) =>
    decisive(policy.syncRequirements, application, valueOf);
  const required = found(({ requireHealthy }) => requireHealthy);
  const isRequired = required.possible.includes(true) || (required.certain ?? policy.requireHealthy ?? false);
  if (!isRequired && !defaults.requireHealthy) return undefined;
  const timeout = found(({ healthTimeout }) => healthTimeout);
  const failure = found(({ onFailure }) => onFailure);
  const onFailure = failure.certain ?? policy.onFailure ?? defaults.onFailure;
  return {
    timeoutMs: Math.min(timeout.certain ?? policy.healthTimeout ?? defaults.healthTimeout, ...timeout.possible),
    onFailure: failure.possible.includes("keep") ? "keep" : onFailure,
  };
}

/** The rules that must all allow a person this command; empty if nothing restricts it. */
export function accessRulesOf(
  application: RuledApplication,
  command: AccessCommand,
  { syncRequirements }: Pick<RepositoryConfig, "syncRequirements">,
): readonly AccessRule[] {
  const { certain, possible } = decisive(syncRequirements, application, (entry): AccessRule | undefined => {
    const { allowedUsers, allowedTeams, commands = BOUND_BY_DEFAULT } = entry;
    if ((allowedUsers === undefined && allowedTeams === undefined) || !commands.includes(command)) return undefined;
    const { from } = entry;
    return { users: allowedUsers ?? [], teams: allowedTeams ?? [], ...(from === undefined ? {} : { from }) };
  });
  return certain === undefined ? possible : [...possible, certain];
}

interface Decisive<T> {
  /** From the exact entry, else from the first pattern that certainly matches. */
  readonly certain: T | undefined;
  /** From earlier entries that may match. */
  readonly possible: readonly T[];
}

/** Collects the values of the entries that decide. */
function decisive<T>(
  entries: readonly Entry[],
  application: RuledApplication,
  valueOf: (entry: Entry) => T | undefined,
): Decisive<T> {
  const exact = entries.filter((entry) => isExact(entry, application));
  const inOrder = [...exact, ...entries.filter((entry) => !isExact(entry, application))];
  const possible: T[] = [];
  for (const entry of inOrder) {
    const value = valueOf(entry);
    if (value === undefined) continue;
    switch (matchOf(entry, application)) {
      case "certain":
        return { certain: value, possible };
      case "possible":
        possible.push(value);
        break;
      case "none":
        break;
    }
  }
  return { certain: undefined, possible };
}

/** Whether the entry names this very application; exact entries come before patterns. */
function isExact({ name }: Entry, application: RuledApplication): boolean {
  return name === application.name;
}
