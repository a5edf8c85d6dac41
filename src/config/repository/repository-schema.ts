import type * as z from "zod";
import { ACCESS_COMMANDS, ON_FAILURE, SYNC_ON } from "../../core/model/settings.js";
import { PATTERN_FORM, patternProblem } from "../pattern.js";
import { bareCluster, describeSelectors, SELECTORS } from "../rules/rule-match.js";
import {
  duration,
  flag,
  formed,
  leaf,
  listOf,
  namePattern,
  oneOf,
  pattern,
  section,
  SHARED_SETTINGS,
  textLeaf,
  Wrong,
} from "../schema-parts.js";
import { camelKeys, type CamelKeys, type ConfigProblem, orderedProblems, readYaml, validate } from "../yaml-tree.js";

const MOST_PATTERNS_OF_AN_APPLICATION = 100;
const MOST_USERS = 100;
/** Each may cost a call to the host. */
const MOST_TEAMS = 20;
const LOGIN = /^[^\s@/]+$/;
const TEAM = /^[^\s@/]+(?:\/[^\s@/]+)*$/;

/** An entry of `sync_requirements` has at least one of them. */
const REQUIREMENTS = [
  "require_approval",
  "require_up_to_date",
  "require_healthy",
  "health_timeout",
  "on_failure",
  "sync_on",
  "allowed_users",
  "allowed_teams",
] as const;

/** The whole of `.svc.yaml`. @param names reads the patterns of names */
export function repositorySchema(names = namePattern) {
  return section({
    version: leaf("1, the only version of this file", (input) => (input === 1 ? 1 : new Wrong()))
      .meta({ title: "number", type: "integer", const: 1 })
      .optional()
      .describe("version of the file's format; 1 is the only one, and the default"),
    autoplan: SHARED_SETTINGS.autoplan.optional(),
    skip_no_changes: SHARED_SETTINGS.skip_no_changes.optional(),
    auto_merge: SHARED_SETTINGS.auto_merge.optional(),
    merge_method: SHARED_SETTINGS.merge_method.optional(),
    delete_source_branch: SHARED_SETTINGS.delete_source_branch.optional(),
    require_approval: SHARED_SETTINGS.require_approval.optional(),
    require_up_to_date: SHARED_SETTINGS.require_up_to_date.optional(),
    require_healthy: SHARED_SETTINGS.require_healthy
      .optional()
      .describe(
        "a sync succeeds only once Argo CD has reported the application as Healthy, or Suspended, for 30 seconds; `false` lifts nothing that the server requires",
      ),
    health_timeout: SHARED_SETTINGS.health_timeout.optional(),
    on_failure: SHARED_SETTINGS.on_failure.optional(),
    update_branch: SHARED_SETTINGS.update_branch.optional(),
    sync_on: oneOf(SYNC_ON)
      .optional()
      .describe(
        "what starts a sync: only `svc sync` (the default), or also the approval that completes what is required; see [Sync on approval](sync-on-approval.md)",
      ),
    applications: listOf(application(names))
      .prefault([])
      .describe("files beyond an application's own sources that affect it"),
    cr_paths: listOf(pattern())
      .optional()
      .describe(
        "where to look for Application and ApplicationSet resources; empty or omitted: all YAML and JSON files",
      ),
    stages: stages(names)
      .optional()
      .describe(
        "the order in which `sync` deploys applications; an application that no pattern matches is in the last one",
      ),
    sync_requirements: syncRequirements(names)
      .prefault([])
      .describe("exceptions for single applications; each entry sets at least one requirement"),
  });
}

function application(names: typeof namePattern) {
  return section({
    name: names().describe("the application; `<namespace>/<name>` outside Argo CD's own namespace"),
    paths: listOf(pattern(), MOST_PATTERNS_OF_AN_APPLICATION)
      .min(1, "at least one pattern is needed, such as <dir>/**")
      .describe("paths from the repository's root, such as `<dir>/**`"),
  });
}

const STAGE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/;
const MOST_STAGES = 20;

function stages(names: typeof namePattern) {
  const stage = section({
    name: formed("a name of up to 40 letters, digits, `.`, `_` and `-`", STAGE_NAME).describe("what people call it"),
    applications: names().describe("its applications; of several patterns that match one, the first wins"),
    wait: oneOf(["healthy", "manual"])
      .prefault("healthy")
      .describe("`healthy`: it follows the stage before by itself; `manual`: with the next `sync`"),
    soak: duration("24h").optional().describe("for how long the stage before must have been deployed"),
  });
  return listOf(stage, MOST_STAGES)
    .min(1, "at least one stage is needed")
    .superRefine((all, context) => {
      all.forEach(({ name, soak, wait }, index) => {
        const wrong = (key: string, message: string) => {
          context.addIssue({ code: "custom", path: [index, key], message });
        };
        if (all.findIndex((one) => one.name === name) < index) wrong("name", "an earlier stage has this name");
        const first = "nothing comes before the first stage; set it for the stage that has to wait";
        if (index === 0 && soak !== undefined) wrong("soak", first);
        if (index === 0 && wait !== "healthy") wrong("wait", first);
      });
    });
}

/** `sync_requirements` of a repository's file, and of the server's, where they are a floor. */
export function syncRequirements(names = namePattern) {
  return listOf(requirement(names)).superRefine((entries, context) => {
    const seen = new Set<string>();
    entries.forEach((entry, index) => {
      const selectors = describeSelectors(entry);
      if (seen.has(selectors)) {
        const first = SELECTORS.find((key) => entry[key] !== undefined) ?? SELECTORS[0];
        const message = `an earlier entry has this ${first}; merge the two`;
        context.addIssue({ code: "custom", path: [index, first], message });
      }
      seen.add(selectors);
    });
  });
}

function requirement(names: typeof namePattern) {
  return section({
    name: names()
      .optional()
      .describe(
        "the application; without a slash it also requires something of applications of that name in other namespaces, and lifts nothing there",
      ),
    project: names().optional().describe("applications of this AppProject"),
    destination: destination(names).optional().describe("applications that deploy there"),
    require_approval: flag().optional().describe("as at the top of the file, for this application"),
    require_up_to_date: flag().optional().describe("as at the top of the file, for this application"),
    require_healthy: flag().optional().describe("as at the top of the file, for this application"),
    health_timeout: duration("1h").optional().describe("as at the top of the file, for this application"),
    on_failure: oneOf(ON_FAILURE).optional().describe("as at the top of the file, for this application"),
    sync_on: oneOf(SYNC_ON)
      .optional()
      .describe(
        "as at the top of a repository's file, for this application; in the server's file a default for repositories that say nothing, and `command` also for those that say `approval`",
      ),
    allowed_users: listOf(formed("a login without `@`", LOGIN, "login"), MOST_USERS)
      .optional()
      .describe(
        "who may give commands (they need write access as well); ignoring case, without `@`; an empty list: nobody",
      ),
    allowed_teams: listOf(team(), MOST_TEAMS)
      .optional()
      .describe("whose members may give commands: `<org>/<team-slug>` on GitHub, a group's full path on GitLab"),
    commands: listOf(oneOf(ACCESS_COMMANDS))
      .min(1, "at least one command is needed")
      .optional()
      .describe("the commands that the two lists restrict; if omitted: `sync` and `rollback`"),
  })
    .superRefine((entry, context) => {
      if (!SELECTORS.some((key) => entry[key] !== undefined)) {
        const message = `is required, or ${SELECTORS.slice(1).join(" or ")}: an entry says which applications it is for`;
        context.addIssue({ code: "custom", path: [SELECTORS[0]], message });
      }
      const lists = entry.allowed_users !== undefined || entry.allowed_teams !== undefined;
      if (!lists && entry.commands !== undefined) {
        const message = "commands says what allowed_users and allowed_teams restrict; set at least one of the two";
        context.addIssue({ code: "custom", path: ["commands"], message });
      } else if (!REQUIREMENTS.some((key) => entry[key] !== undefined)) {
        const message = `the entry requires nothing: set ${REQUIREMENTS.slice(0, -1).join(", ")} or ${REQUIREMENTS.at(-1) ?? ""}`;
        context.addIssue({ code: "custom", message });
      }
    })
    .meta({
      allOf: [SELECTORS, REQUIREMENTS].map((keys) => ({
        anyOf: keys.map((key) => ({ required: [key] })),
      })),
      dependencies: { commands: { anyOf: [{ required: ["allowed_users"] }, { required: ["allowed_teams"] }] } },
    });
}

function destination(names: typeof namePattern) {
  return section({
    cluster: cluster().optional().describe("the cluster's name, or its address, which begins with `https://`"),
    namespace: names().optional().describe("the namespace"),
  })
    .superRefine(({ cluster, namespace }, context) => {
      if (cluster !== undefined || namespace !== undefined) return;
      context.addIssue({ code: "custom", message: "set cluster, namespace or both" });
    })
    .meta({ anyOf: [{ required: ["cluster"] }, { required: ["namespace"] }] });
}

function cluster() {
  return textLeaf("a cluster's name or address, or a pattern with `*`", (value) => {
    const problem = patternProblem(bareCluster(value));
    return problem === undefined ? value : new Wrong(problem);
  }).meta({
    title: "pattern",
    // Go, which Helm reads the chart's schema with, looks ahead only at the beginning of a pattern.
    anyOf: [
      PATTERN_FORM,
      {
        type: "string",
        pattern: "^[hH][tT][tT][pP][sS]?://[^/!\\\\\\[\\]\\s][^/\\\\\\[\\]\\s]*(?:/[^/\\\\\\[\\]\\s]+)*$",
      },
    ],
  });
}

/** GitHub's teams have two parts, GitLab's groups one or more; the host decides which it is. */
export function team() {
  return formed("a team as <org>/<team-slug>, or a group's full path, without `@`", TEAM, "team");
}

/** The slowest known text of this size keeps the parser busy for about a second. */
const LARGEST_FILE = 64 * 1024;
const SCHEMA = repositorySchema();
/** Earlier versions of svc took more patterns of names. The other rules of such a file still hold until it is put right. */
const PAST_SCHEMA = repositorySchema(() => namePattern(patternProblem));

/** A repository's file after validation. Undefined keys fall back to the server's defaults. */
export type RepositoryConfig = CamelKeys<z.infer<typeof SCHEMA>>;

export type RepositoryConfigResult =
  | { readonly kind: "valid"; readonly config: RepositoryConfig }
  | { readonly kind: "invalid"; readonly problems: readonly ConfigProblem[] };

/** The configuration of a repository without the file. */
export const NO_REPOSITORY_CONFIG: RepositoryConfig = { applications: [], syncRequirements: [] };

export const NO_FILE: RepositoryConfigResult = { kind: "valid", config: NO_REPOSITORY_CONFIG };

/** Reads a repository's file, without expanding `${NAME}`. @param isPast a branch has it already: what is wrong with patterns of names passes */
export function parseRepositoryConfig(text: string, fileName: string, isPast = false): RepositoryConfigResult {
  const { tree, problems } = readYaml(text, fileName, LARGEST_FILE);
  if (tree === undefined) return { kind: "invalid", problems };
  const checked = validate(tree, isPast ? PAST_SCHEMA : SCHEMA);
  const found = checked.kind === "invalid" ? checked.problems : [];
  if (checked.kind === "invalid" || problems.length > 0) {
    return { kind: "invalid", problems: orderedProblems([...problems, ...found], [fileName]) };
  }
  return { kind: "valid", config: camelKeys(checked.value) };
}
