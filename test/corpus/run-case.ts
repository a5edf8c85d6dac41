import type { Forge } from "../../sandbox/forge.js";
import type { SandboxWorld } from "../../sandbox/world.js";
import type { HostId } from "../../src/names.js";
import { REPOSITORY, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { ArgoCdCalls } from "./argocd-calls.js";
import { clusterChange, clusterObjects, type ClusterChange, type ClusterObjects } from "./cluster-objects.js";
import type { Case } from "./load-case.js";
import { planFacts, type PlanFacts } from "./plan-facts.js";
import { putApplications, putObjects } from "./put-cluster.js";
import { changesBetween, replaceWords, withWords, type Tree } from "./read-tree.js";
import { ServedManifests } from "./served-manifests.js";

const OTHER = "acme/other";

/** Everything that a case is judged by. */
export interface Outcome {
  readonly plan: PlanFacts;
  readonly renders: readonly string[];
  /** Applications that the plan left locked. */
  readonly locked: readonly string[];
  readonly answer: string;
  readonly syncs: readonly string[];
  readonly cluster: ClusterChange;
  /** Specs of real Applications that are different afterwards, with `REPO_URL` as in the case; null for one that is gone. */
  readonly specs: Readonly<Record<string, unknown>>;
}

/** Plays one case on one host: the change request is opened and planned, then the commands are given. */
export async function runCase(one: Case, host: HostId): Promise<Outcome> {
  const run = new CaseRun(one);
  const bot = await startBot(run.options(host));
  return run.play(bot);
}

class CaseRun {
  readonly #case: Case;
  readonly #revisions = new Map<string, string>();
  #words: ReadonlyMap<string, string> = new Map();
  #served: ServedManifests | undefined;
  #calls: ArgoCdCalls | undefined;

  constructor(one: Case) {
    this.#case = one;
  }

  options(host: HostId): BotOptions {
    const { argocd, settings } = this.#case;
    const { permissions } = argocd;
    return {
      host,
      applications: [],
      files: (url) => {
        this.#words = new Map([
          ["REPO_URL", url],
          ["OTHER_URL", url.replace(REPOSITORY, OTHER)],
        ]);
        return this.#tree(this.#case.base);
      },
      config: (world) => {
        const token = permissions === undefined ? {} : { token: world.argocd.addAccount("small", { permissions }) };
        return { ...settings, deployer: { ...settings.deployer, ...token } };
      },
      argocd: { applicationNamespaces: argocd.application_namespaces },
      prepare: (world, forge) => this.#prepare(world, forge),
      // The case compares everything that was done with what it expects.
      checkChanges: false,
    };
  }

  async play(bot: Bot): Promise<Outcome> {
    const number = await this.#open(bot);
    const plan = planFacts(bot.lastComment(number));
    const renders = this.#calls?.renders(this.#names()) ?? [];
    const locked = await bot.locked(number);
    for (const login of this.#case.approvals) await bot.approve(number, login);
    const before = { objects: objectsOf(bot), specs: specsOf(bot) };
    for (const command of this.#case.commands) await bot.comment(number, command);
    const after = { objects: objectsOf(bot), specs: specsOf(bot) };
    return {
      plan,
      renders,
      locked,
      answer: bot.lastComment(number),
      syncs: this.#calls?.syncs(this.#names()) ?? [],
      cluster: clusterChange(before.objects, after.objects),
      specs: changedSpecs(before.specs, after.specs, (text) => this.#unbound(text)),
    };
  }

  async #prepare({ argocd }: SandboxWorld, forge: Forge): Promise<void> {
    const { base_branch: base, branches, other, cluster, manifests } = this.#case;
    const { tracking } = this.#case.argocd;
    const written = manifests.map((file) => ({ ...file, text: replaceWords(file.text, this.#words) }));
    const served = new ServedManifests(argocd, written);
    this.#served = served;
    this.#calls = new ArgoCdCalls(argocd, (temporary, real) => served.alsoAs(temporary, real));
    if (other !== undefined) await forge.createRepository(OTHER, this.#tree(other));
    this.#know("base", await forge.pushToBranch(REPOSITORY, base, {}));
    for (const branch of branches) this.#revisions.set(branch, await forge.pushToBranch(REPOSITORY, branch, {}));
    if (tracking !== undefined) argocd.setTracking(tracking);
    if (this.#case.argocd.stores_defaults === true) argocd.storeDefaults();
    putObjects(argocd, replaceWords(cluster.objects, this.#words));
    putApplications(argocd, replaceWords(cluster.applications, this.#words));
    await argocd.pollGit();
  }

  /** Renders wait until the head's manifests can be served: its commit id is known only when the change request is open. */
  async #open(bot: Bot): Promise<number> {
    const { head, base, baseLater, base_branch: branch } = this.#case;
    const release = bot.argocd.holdRenders();
    const changes = changesBetween(this.#tree(base), this.#tree(head));
    const number = await bot.forge.open({ repository: REPOSITORY, by: "ana", changes, base: branch });
    this.#know("head", bot.seen(number).headRevision);
    release();
    await bot.idle();
    if (baseLater === undefined) return number;
    const moved = changesBetween(this.#tree(base), this.#tree(baseLater));
    this.#know("later", await bot.forge.pushToBranch(REPOSITORY, branch, moved));
    await bot.idle();
    this.#calls?.beginPlan();
    await bot.comment(number, "svc plan");
    return number;
  }

  /** The case's words in place of what they stand for in this world. */
  #unbound(text: string): string {
    return replaceWords(text, new Map([...this.#words].map(([word, meaning]) => [meaning, word])));
  }

  #tree(tree: Tree): Tree {
    return withWords(tree, this.#words);
  }

  #know(symbol: string, revision: string): void {
    this.#revisions.set(symbol, revision);
    this.#served?.know(symbol, revision);
  }

  #names(): ReadonlyMap<string, string> {
    return new Map([...this.#revisions].map(([symbol, revision]) => [revision, symbol]));
  }
}

function objectsOf(bot: Bot): ClusterObjects {
  return clusterObjects(bot.argocd.live());
}

/** Specs as JSON text by name, of real Applications. */
function specsOf(bot: Bot): ReadonlyMap<string, string> {
  const temporary = new Set(bot.argocd.temporaryApplications().map(({ metadata }) => metadata.name));
  const real = bot.argocd.applications().filter(({ metadata }) => !temporary.has(metadata.name));
  return new Map(
    real.map(({ metadata: { name = "", namespace = "argocd" }, spec }) => [
      namespace === "argocd" ? name : `${namespace}/${name}`,
      JSON.stringify(spec),
    ]),
  );
}

function changedSpecs(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
  unbound: (text: string) => string,
): Readonly<Record<string, unknown>> {
  const names = [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => before.get(name) !== after.get(name),
  );
  return Object.fromEntries(names.map((name) => [name, JSON.parse(unbound(after.get(name) ?? "null")) as unknown]));
}
