import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import type { ApplicationFacts, Facts, StoredFact } from "../../src/core/policy/facts.js";
import type { Gate, Judged } from "../../src/core/policy/gates.js";
import { barsOf } from "../../src/core/policy/judge.js";
import { RULES } from "../../src/core/policy/rules.js";
import { HOST_IDS } from "../../src/names.js";
import { wordsOfOthers } from "../scenarios/host-words.js";
import { sortedJson } from "./sorted-json.js";
import { judgedAs, textOfState } from "./state-text.js";

const FOLDER = fileURLToPath(new URL("./states/", import.meta.url));
const FILES = readdirSync(FOLDER);
const STATES = FILES.filter((file) => file.endsWith(".json")).map((file) => {
  const text = readFileSync(`${FOLDER}${file}`, "utf8");
  return { name: file.slice(0, -".json".length), text, facts: JSON.parse(text) as Facts };
});

test("there are many states of each code host", () => {
  expect(STATES.length).toBeGreaterThanOrEqual(150);
  for (const id of HOST_IDS) {
    const share = STATES.filter(({ facts }) => facts.change.host === id).length / STATES.length;
    expect(share).toBeGreaterThan(0.4);
  }
});

/** `UPDATE_GOLDEN=1` writes the texts, for a person to read the difference. */
test("svc makes of each recorded state what it made of it before", () => {
  const updating = process.env.UPDATE_GOLDEN === "1";
  const known = new Set(STATES.map(({ name }) => `${name}.md`));
  const orphans = FILES.filter((file) => file.endsWith(".md") && !known.has(file));
  if (updating) for (const file of orphans) rmSync(`${FOLDER}${file}`);
  else expect(orphans).toEqual([]);
  for (const { name, facts } of STATES) {
    const text = textOfState(facts);
    if (updating) writeFileSync(`${FOLDER}${name}.md`, text);
    expect({ name, text }).toEqual({ name, text: goldenOf(name) });
    expect({ name, ofOthers: wordsOfOthers(facts.change.host, [text]) }).toEqual({ name, ofOthers: [] });
  }
});

test("every gate bars in a state, and every danger is told in one", () => {
  const commands: readonly Judged[] = ["plan", "sync", "rollback", "unlock", "update", "revert", "hold", "merge"];
  const bars = STATES.flatMap(({ facts }) => commands.flatMap((command) => barsOf(judgedAs(command, facts))));
  const barring = new Set(bars.map(({ gate }) => gate));
  const rows = Object.keys(RULES) as readonly (keyof typeof RULES)[];
  const silent = rows.filter((row) => {
    const rule = RULES[row];
    if (rule.of !== "danger") return !barring.has(row as Gate);
    return !STATES.some(({ facts }) => facts.applications.some((one) => rule.warns(one, facts).length > 0));
  });
  expect(silent).toEqual([]);
});

test("a gate trusts no stored fact without a word on what makes it stale", () => {
  const commands: readonly Judged[] = ["plan", "sync", "rollback", "unlock", "merge"];
  const silent = new Set<string>();
  for (const [gate, rule] of Object.entries(RULES)) {
    if (rule.of === "danger") continue;
    for (const command of commands.filter((one) => rule.commands.includes(one))) {
      const onRead = (fact: StoredFact) => {
        if (rule.trusts?.[fact] === undefined) silent.add(`${gate} reads ${fact}`);
      };
      for (const state of STATES) {
        const facts = watchedFacts(state.facts, onRead);
        if (rule.of === "change") rule.bars(facts, command);
        else for (const one of [...facts.applications, ...facts.others]) rule.bars(one, facts, command);
      }
    }
  }
  expect([...silent]).toEqual([]);
});

/** Where the facts hold what was stored. */
const STORED_IN = { plan: "plan", mergeChecks: "plan", missed: "plan" } as const;
const STORED_OF_EACH = { planned: "plan", lock: "locks", record: "records", foreign: "records" } as const;

function watchedFacts(facts: Facts, onRead: (fact: StoredFact) => void): Facts {
  const each = (one: ApplicationFacts) => watched(one, STORED_OF_EACH, onRead);
  const { applications, others } = facts;
  return watched({ ...facts, applications: applications.map(each), others: others.map(each) }, STORED_IN, onRead);
}

function watched<T extends object>(
  target: T,
  stored: Readonly<Partial<Record<keyof T, StoredFact>>>,
  onRead: (fact: StoredFact) => void,
): T {
  return new Proxy(target, {
    get(one, member: string, receiver) {
      const fact = (stored as Readonly<Record<string, StoredFact | undefined>>)[member];
      if (fact !== undefined) onRead(fact);
      return Reflect.get(one, member, receiver) as unknown;
    },
  });
}

test("a state is plain JSON, and is judged the same in whichever order its members come", () => {
  for (const { name, text, facts } of STATES) {
    expect({ name, again: JSON.parse(JSON.stringify(facts)) as unknown }).toEqual({
      name,
      again: JSON.parse(text) as unknown,
    });
    const backwards = sortedJson(facts, -1) as Facts;
    expect({ name, text: textOfState(backwards) }).toEqual({ name, text: textOfState(facts) });
  }
});

function goldenOf(name: string): string | undefined {
  const file = `${name}.md`;
  return FILES.includes(file) || process.env.UPDATE_GOLDEN === "1"
    ? readFileSync(`${FOLDER}${file}`, "utf8")
    : undefined;
}
