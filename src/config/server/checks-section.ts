import { team } from "../repository/repository-schema.js";
import { duration, flag, listOf, pattern, section, text, textLeaf, Wrong } from "../schema-parts.js";
import type { ReadVariable } from "./server-parts.js";

const MOST_CHECKS = 20;
const NAME = /^[a-z0-9](?:[a-z0-9._-]{0,48}[a-z0-9])?$/i;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** What every check gets, beside the variables that its entry names. */
export const CHECK_VARIABLES = [
  "SVC_APPLICATION",
  "SVC_REPOSITORY",
  "SVC_NUMBER",
  "SVC_NAMESPACE",
  "SVC_BASE_FILE",
] as const;

/** `checks`: programs that look at what a plan renders. Only the server's file has them: they run on its machine. */
export function checksSection(readVariable: ReadVariable) {
  return listOf(check(readVariable), MOST_CHECKS)
    .superRefine((checks, context) => {
      checks.forEach(({ name }, index) => {
        if (checks.findIndex((one) => one.name === name) === index) return;
        context.addIssue({ code: "custom", path: [index, "name"], message: "an earlier check has this name" });
      });
    })
    .prefault([])
    .describe("programs that check what a plan renders");
}

function check(readVariable: ReadVariable) {
  return section({
    name: checkName().describe("the name in plans and answers"),
    command: listOf(text(), 100)
      .min(1, "the program is needed")
      .superRefine(([program = ""], context) => {
        if (!program.includes("/") || program.startsWith("/")) return;
        const message = "the program needs its whole path, or a name without a path: a check runs in an empty folder";
        context.addIssue({ code: "custom", path: [0], message });
      })
      .describe(
        "the program and its arguments, without a shell; a name without a path is looked up in svc's `PATH`. It gets the manifests of one application as YAML documents on standard input, and exits with 0 if they pass",
      ),
    applications: pattern().prefault("*").describe("which applications are checked"),
    required: flag().prefault(true).describe("a sync is refused while the check fails"),
    timeout: duration("10m").prefault("1m").describe("after this time the program is ended, and the check has failed"),
    env: listOf(variable(readVariable), 50)
      .prefault([])
      .describe("environment variables of svc that the program gets; it gets no others but those of the check"),
    overridable_by: listOf(team(), 20)
      .prefault([])
      .describe(
        "teams (`<org>/<team-slug>` on GitHub, a group's full path on GitLab): an approval of the head commit by a member lets it be synced although the check fails",
      ),
  }).superRefine(({ required, overridable_by: teams }, context) => {
    if (required || teams.length === 0) return;
    const message = "leave it out, or set required: a check that is not required keeps nothing from being synced";
    context.addIssue({ code: "custom", path: ["overridable_by"], message });
  });
}

function checkName() {
  return textLeaf("up to 50 letters, digits, dots, dashes and underscores", (value) =>
    NAME.test(value) ? value : new Wrong(),
  ).meta({ title: "name", type: "string", pattern: "^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,48}[A-Za-z0-9])?$" });
}

/** The name of a variable, read with its value. */
function variable(readVariable: ReadVariable) {
  return textLeaf("the name of an environment variable", (name) => {
    if (!VARIABLE.test(name)) return new Wrong();
    if (CHECK_VARIABLES.some((own) => own === name)) return new Wrong("svc sets this variable itself");
    const value = readVariable(name);
    return value === undefined ? new Wrong("no environment variable of this name is set") : { name, value };
  }).meta({ title: "name", type: "string", pattern: VARIABLE.source });
}
