import type { Branches } from "../../detect/inputs/moving-sources.js";
import { compareGenerated, type GeneratedChange, readAside } from "../../detect/scan/application-sets.js";
import { mapGenerators } from "../../detect/scan/generators.js";
import { type Application, type ApplicationSet, specEqual } from "../../model/application.js";
import { applicationName, type ApplicationName } from "../../model/brand.js";
import type { Member } from "../../model/effect.js";
import { isJsonObject, type Json, jsonEqual, type JsonObject } from "../../model/json.js";
import type { Stoppable } from "../../ports/context.js";
import type { Deployer } from "../../ports/deployer.js";
import { regenerated } from "../ignored-fields.js";
import { memberOf } from "../members.js";
import { policyOf } from "./application-set-notes.js";

interface SetSides {
  readonly base?: ApplicationSet | undefined;
  readonly head?: ApplicationSet | undefined;
}

/**
 * The members of a set's own spec that change, and that a comparison of what it generates does not show in full: how Argo
 * CD keeps the applications, and what generators will find later. Elements of lists and the template's spec are generated
 * from on both sides. Empty for a set that is new or removed.
 */
export function changedSettings({ base, head }: SetSides): readonly string[] {
  if (base === undefined || head === undefined) return [];
  const [before, after] = [settingsOf(base), settingsOf(head)];
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((key) => !jsonEqual(before.get(key), after.get(key)))
    .sort();
}

/** Adds to a set's members what its generators come to read; without members it becomes one itself, since a push can fill it later. */
export function withReads(
  members: readonly Member[],
  { name, base, head }: SetSides & { readonly name: string },
  change: Branches,
): readonly Member[] {
  const known = new Set(base === undefined ? [] : readAside(base, change));
  const added = head === undefined ? [] : readAside(head, change).filter((one) => !known.has(one));
  if (added.length === 0) return members;
  const reachedBy = { kind: "generated", by: name } as const;
  const own = memberOf({ application: applicationName(name), head: undefined, before: [], reachedBy });
  const all = members.length > 0 ? members : [{ ...own, definition: { kind: "unknown" } as const }];
  return all.map((member) => ({ ...member, follows: [...new Set([...(member.follows ?? []), ...added])] }));
}

function settingsOf({ resource }: ApplicationSet): ReadonlyMap<string, Json | undefined> {
  const { spec } = mapGenerators(resource, (options, kind) =>
    kind === "list" ? without(options, "elements") : options,
  );
  const members = new Map(Object.entries(isJsonObject(spec) ? spec : {}));
  const template = members.get("template");
  if (isJsonObject(template)) members.set("template", without(template, "spec"));
  return members;
}

function without(object: JsonObject, member: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== member));
}

interface Owning extends SetSides {
  /** What Argo CD says that it owns; asked only where its settings change, or where it is removed. */
  readonly owned: readonly ApplicationName[];
  readonly generated: { readonly base: readonly Application[]; readonly head: readonly Application[] };
}

/** The applications that Argo CD says a set owns, where its settings change or it is removed; else none. @throws {DeployerFailure} */
export async function ownedIfChanged(
  { base, head }: SetSides,
  { deployer, signal }: Pick<Stoppable, "signal"> & { readonly deployer: Pick<Deployer, "applicationsOfSet"> },
): Promise<readonly ApplicationName[]> {
  if (base === undefined || (head !== undefined && changedSettings({ base, head }).length === 0)) return [];
  return deployer.applicationsOfSet(base, signal);
}

/** What a set adds, removes and changes; if its settings change, also applications that its policy has protected so far. */
export function compareOwned(
  { base, head, owned, generated }: Owning,
  live: ReadonlyMap<ApplicationName, Application>,
): GeneratedChange {
  const compared = compareGenerated(generated.base, generated.head);
  if (head !== undefined && changedSettings({ base, head }).length === 0) return compared;
  const policy = head && policyOf(head);
  const known = new Set([...generated.base, ...generated.head].map(({ name }) => name));
  const left = policy?.deletes === false ? [] : owned.filter((name) => !known.has(name));
  const rewritten = generated.head.filter((one) => {
    const running = live.get(one.name)?.spec;
    return head && running && policy?.updates === true && !specEqual(regenerated(one, running, head), running);
  });
  const isAdded = new Set(compared.added);
  const changed = rewritten.map(({ name }) => name).filter((name) => !isAdded.has(name));
  return {
    added: compared.added,
    removed: [...compared.removed, ...left],
    changed: [...new Set([...compared.changed, ...changed])].sort(),
  };
}
