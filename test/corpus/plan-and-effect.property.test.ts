import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { FileChanges } from "../../sandbox/forge.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "../scenarios/bot.js";
import { planned, section } from "../scenarios/plan-comment.js";
import { applicationResource, asYaml } from "../scenarios/resources.js";
import { shareOf } from "../share-of.js";
import { clusterChange, clusterObjects, type ClusterObjects } from "./cluster-objects.js";
import { GeneratedTree, HOOK_KIND } from "./generated-files.js";
import { story, type GeneratedDefinition, type Story } from "./generated-story.js";
import { planFacts } from "./plan-facts.js";

/** Stories for each host; `SVC_STORIES=200` looks further. */
const RUNS = Number(process.env.SVC_STORIES ?? shareOf(5));

describe.each(HOSTS)("plan and effect over generated pull requests on %s", (host) => {
  test("a sync does what its plan shows, a merge adds nothing to it, and what could not be evaluated does not render", async () => {
    // Telling a story takes a second or more, so that a failing one is reported as it is: stories are small already.
    await fc.assert(
      fc.asyncProperty(story, (one) => tell(host, one)),
      { numRuns: RUNS, endOnFailure: true },
    );
  });
});

async function tell(host: (typeof HOSTS)[number], { definitions, files, rounds, prunesLast }: Story): Promise<void> {
  const tree = new GeneratedTree(files);
  const bot = await startBot({
    host,
    applications: [],
    files: (url) => ({ ...tree.texts(), ...definitionFiles(definitions, url) }),
    prepare: async ({ argocd }, forge) => {
      for (const [name, definition] of Object.entries(definitions)) {
        argocd.addApplication(resourceOf(name, definition, forge.cloneUrl(REPOSITORY)));
        await argocd.deploy(name);
      }
    },
  });
  const names = Object.keys(definitions);
  for (const [index, round] of rounds.entries()) {
    const changes = definitionFiles(round.definitions, bot.forge.cloneUrl(REPOSITORY));
    const changed = { ...tree.apply(round.edits), ...changes };
    const number = await bot.open({ ...changed, "round.txt": String(index) });
    const plan = readPlan(bot, number, names);
    await syncAsPlanned(bot, number, plan, { prune: prunesLast || index < rounds.length - 1 });
    await bot.forge.mergeByHand(REPOSITORY, number, "bo");
    await bot.idle();
    await expectNothingMore(bot, plan);
    if (plan.some(({ kind }) => kind === "unevaluated")) {
      await expectUnrenderable(bot, plan, round.definitions);
      break;
    }
  }
  await bot.end();
}

function definitionFiles(definitions: Story["definitions"], url: string): FileChanges {
  return Object.fromEntries(
    Object.entries(definitions).map(([name, one]) => [`argocd/${name}.yaml`, asYaml(resourceOf(name, one, url))]),
  );
}

function resourceOf(name: string, { path, recurse, exclude, moved }: GeneratedDefinition, repoURL: string): object {
  const directory = { ...(recurse ? { recurse } : {}), ...(exclude === "" ? {} : { exclude }) };
  const source = {
    repoURL,
    targetRevision: "main",
    path,
    ...(Object.keys(directory).length === 0 ? {} : { directory }),
  };
  const destination = { server: "https://kubernetes.default.svc", namespace: moved ? `${name}-moved` : name };
  return applicationResource(name, { repoURL, spec: { source, destination } });
}

/** Titles of objects, as a plan gives them: `apps/Deployment guestbook/web`. */
interface Titles {
  readonly created: readonly string[];
  readonly changed: readonly string[];
  readonly deleted: readonly string[];
}

type ReadPlan = Titles & {
  readonly application: string;
  /** `none`: the plan does not mention it. */
  readonly kind: "none" | "evaluated" | "unevaluated";
  /** The Secrets that it cannot tell about. */
  readonly unsure: readonly string[];
};

/** What the comment says of each application, as a reader would take it. */
function readPlan(bot: Bot, number: number, names: readonly string[]): readonly ReadPlan[] {
  const comment = bot.answers(number).join("\n");
  const mentioned = planned(comment);
  expect(names).toEqual(expect.arrayContaining([...mentioned]));
  expect(comment).not.toMatch(/Not deployed by this (?:PR|MR):/);
  const facts = planFacts(comment).applications;
  return names.map((application): ReadPlan => {
    const text = section(comment, application);
    const { create = [], update = [], delete: remove = [] } = facts[application] ?? {};
    const seen = { created: [...create].sort(), changed: [...update].sort(), deleted: [...remove].sort() };
    const evaluated = /\*\*Changes:\*\* (\d+) to create, (\d+) to update/.exec(text);
    const kind = text === "" ? "none" : evaluated === null ? "unevaluated" : "evaluated";
    const deletes = /\*\*Deletes:\*\* (\d+) to delete/.exec(text)?.[1] ?? 0;
    const counts = [...(evaluated ?? []).slice(1), ...(kind === "evaluated" ? [deletes] : [])].map(Number);
    const shown = kind === "evaluated" ? [seen.created, seen.changed, seen.deleted].map(({ length }) => length) : [];
    expect({ application, counts }).toEqual({ application, counts: shown });
    return { application, kind, unsure: unsureIn(text), ...seen };
  });
}

function unsureIn(text: string): readonly string[] {
  return [
    ...text.matchAll(/^(?:- )?Secret `?([^\s`]+)`?: cannot tell whether its values changed .*; values are hidden$/gm),
  ].map(([, name]) => `Secret ${name}`);
}

async function syncAsPlanned(
  bot: Bot,
  number: number,
  plan: readonly ReadPlan[],
  { prune }: { readonly prune: boolean },
): Promise<void> {
  const deployable = plan.filter(({ kind }) => kind === "evaluated").map(({ application }) => application);
  expect(await bot.locked(number)).toEqual(expect.arrayContaining(deployable));
  if (deployable.length === 0) return;
  const before = clusterObjects(bot.argocd.live());
  bot.expectChanges(...deployable.flatMap((name) => [`sync ${name}`, `update ${name}`]));
  const narrowed = plan.some(({ kind }) => kind === "unevaluated") ? deployable.map((name) => ` -a ${name}`) : [];
  // A moved destination needs one, whatever the rules say.
  await bot.approve(number);
  await bot.comment(number, `svc sync${narrowed.join("")}${prune ? " --prune" : ""}`);
  const answer = bot.lastComment(number);
  for (const name of deployable) expect(section(answer, name)).toContain("✅ succeeded");
  const after = clusterObjects(bot.argocd.live());
  for (const one of plan) {
    const { application, unsure } = one;
    const { created, changed, deleted } = inNamespace(application, before, after);
    // A value that Argo CD hides is known only where git tells; and Kubernetes keeps keys of `stringData` that are gone from git,
    // so that a Secret may have the key already that the plan shows as new.
    const isTold = (title: string) =>
      !unsure.includes(title) || (changed.includes(title) && one.changed.includes(title));
    expect({ application, created, changed: changed.filter(isTold), deleted }).toEqual({
      application,
      created: one.created,
      changed: one.changed.filter(isTold),
      deleted: prune ? one.deleted : [],
    });
  }
}

/** Argo CD deploys the merge: had a plan missed something, it would appear in the cluster now. */
async function expectNothingMore(bot: Bot, plan: readonly ReadPlan[]): Promise<void> {
  const before = clusterObjects(bot.argocd.live());
  for (const { application, kind } of plan) if (kind !== "unevaluated") await bot.argocd.deploy(application);
  const after = clusterObjects(bot.argocd.live());
  for (const { application } of plan) {
    const more = { application, ...inNamespace(application, before, after) };
    expect(more).toEqual({ application, created: [], changed: [], deleted: [] });
  }
}

async function expectUnrenderable(
  bot: Bot,
  plan: readonly ReadPlan[],
  definitions: Story["definitions"],
): Promise<void> {
  for (const { application } of plan.filter(({ kind }) => kind === "unevaluated")) {
    const definition = definitions[application];
    const url = bot.forge.cloneUrl(REPOSITORY);
    if (definition !== undefined) bot.argocd.addApplication(resourceOf(application, definition, url));
    await expect(bot.argocd.deploy(application)).rejects.toThrow("could not be deployed");
  }
}

/** What happened in the namespaces of one application. Hooks run at every sync and are no part of the state. */
function inNamespace(namespace: string, before: ClusterObjects, after: ClusterObjects): Titles {
  const { created, changed, deleted } = clusterChange(before, after);
  const own = (titles: readonly string[]) =>
    titles.filter((title) => / ([^/]+?)(?:-moved)?\//.exec(title)?.[1] === namespace && !isA(HOOK_KIND, title)).sort();
  return { created: own(Object.keys(created)), changed: own(Object.keys(changed)), deleted: own(deleted) };
}

function isA(kind: string, title: string): boolean {
  return title.split(" ")[0]?.split("/").at(-1) === kind;
}
