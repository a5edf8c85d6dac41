import type { RenderedChild, RenderFacts } from "../diff/diff-task.js";
import { type Application, type ApplicationSpec, digestOf, specEqual } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { allInTurns, groupedBy, mapInTurns } from "../model/collections.js";
import {
  type BoundIdentity,
  definedWith,
  type Effect,
  GONE_FIRST,
  type Identity,
  type Member,
  type ReachedBy,
  ruledAs,
  sameCluster,
} from "../model/effect.js";
import { DeployerFailure } from "../model/errors.js";
import type { ApplicationSetPreview, Plan } from "../model/plan/plan.js";
import type { Settings } from "../model/settings.js";
import type { Subject } from "../model/subject.js";
import type { Clock } from "../ports/clock.js";
import type { Deployer } from "../ports/deployer.js";
import type { Log } from "../ports/log.js";
import type { Reached, Surroundings } from "./children.js";
import { reachedFrom } from "./driving-right.js";
import { asChanged, autoSyncAmong, BEFORE, directMember, identityOf, memberOf } from "./members.js";
import type { ShownPreview } from "./previews.js";
import type { SurveyWithSets } from "./sets/generated-applications.js";
import { reachedBySet, type ShowingSource } from "./sets/rendered-sets.js";

interface Chain {
  /** What is known of each application: once for each definition of it that was rendered. */
  readonly appliedBy: ReadonlyMap<ApplicationName, readonly Applied[]>;
  /** What goes with an application that is deleted, of those that were looked at for that, once for each that may delete it. */
  readonly gone: ReadonlyMap<ApplicationName, readonly Applied[]>;
  /** The children that Argo CD runs, by their parent. */
  readonly running: ReadonlyMap<ApplicationName, readonly Application[]>;
  /** The problem to report of a child that Argo CD deploys by itself and that was not rendered with its new definition. */
  readonly unseen: string | undefined;
}

/** Adds what the reached applications apply in turn, as far as Argo CD deploys them by itself. */
function reachedInTurn(first: readonly Reached[], chain: Chain): readonly Member[] {
  const found = new Map<string, Member>();
  const queue = [...first];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { member, deploysItself, recreated } = next;
    const key = JSON.stringify([member.application, member.reachedBy]);
    if (found.has(key)) continue;
    const known = renderedAs(member, chain);
    const hidden = deploysItself && known.length === 0 && member.problem === undefined;
    const others = chain.appliedBy.get(member.application) ?? [];
    const problem = chain.unseen ?? (others.some(({ digest }) => digest !== undefined) ? NOT_RENDERED : undefined);
    found.set(key, { ...member, deploysItself, ...(hidden ? { problem } : {}) });
    if (deploysItself) queue.push(...known.flatMap(({ reached: below }) => below.map(asGoneAtOnce)));
    queue.push(...removedWith(recreated === true ? { ...member, definition: GONE_FIRST } : member, chain));
  }
  return [...found.values()];
}

/** Marks what an auto-synced application deletes as deleted at once, since it may prune by itself. */
function asGoneAtOnce(one: Reached): Reached {
  const { definition } = one.member;
  return definition.kind === "removed" ? withDefinition(one, { ...definition, atOnce: true }) : one;
}

function withDefinition(one: Reached, definition: Member["definition"]): Reached {
  return { ...one, member: { ...one.member, definition } };
}

/** Argo CD deletes what a removed application has deployed, if that has the finalizer for it. */
function removedWith(member: Member, chain: Chain): readonly Reached[] {
  const { definition } = member;
  if (definition.kind !== "removed") return [];
  const common = { head: undefined, reachedBy: { kind: "child", of: member.application } } as const;
  const children = (chain.running.get(member.application) ?? []).map(({ name: application, spec }) => {
    return { member: memberOf({ ...common, application, before: [spec] }), deploysItself: false };
  });
  const gone = [...children, ...lookedAt(member, chain).flatMap(({ reached }) => reached)];
  return gone.map((one) => (one.member.definition.kind === "removed" ? withDefinition(one, definition) : one));
}

/** What is known of a member: of one that is deleted, what goes with it, rather than what a sync of it would change. */
function lookedAt(member: Member, chain: Chain): readonly Applied[] {
  const removed = member.definition.kind === "removed" ? (chain.gone.get(member.application) ?? []) : undefined;
  const found = removed ?? renderedAs(member, chain);
  return found.length > 0 ? found : (chain.appliedBy.get(member.application) ?? []);
}

function renderedAs({ application, digest }: Member, { appliedBy }: Chain): readonly Applied[] {
  return (appliedBy.get(application) ?? []).filter((one) => digest !== undefined && one.digest === digest);
}

const NOT_RENDERED = "Argo CD deploys it by itself, and what it would deploy was not rendered";

/** A child Application, if a sync of its parent creates, changes or removes it. */
function reachedChild(
  child: RenderedChild,
  reachedBy: Extract<ReachedBy, { readonly kind: "child" }>,
  { live, nameOf, change, syncsItself }: Surroundings & { readonly syncsItself: (spec: ApplicationSpec) => boolean },
): readonly Reached[] {
  const { base, head, changed, operates, recreated } = child;
  const application = nameOf(child.namespace, child.name === "" ? GENERATED : child.name);
  const running = live.get(application);
  if (base === undefined && head === undefined && running?.parent !== reachedBy.of) return [];
  if (head === undefined) {
    const before = [base, running?.spec].filter((spec) => spec !== undefined);
    return [{ member: memberOf({ application, head, before, reachedBy, change }), deploysItself: false }];
  }
  if (!changed && !operates && recreated !== true && running !== undefined && specEqual(head, running.spec)) return [];
  const before = running === undefined ? [] : [base, running.spec].filter((spec) => spec !== undefined);
  const member = memberOf({ application, head, before, reachedBy, change });
  return [{ member: asChanged(member, operates), deploysItself: syncsItself(head) || operates, recreated }];
}

/** Placeholder for a name that Kubernetes generates; no application can have it. */
const GENERATED = "(generated)";

/** One application of a plan, and what its renders say; without facts they could not be compared, or were proven equal. */
interface Examined {
  readonly subject: Subject;
  readonly facts: RenderFacts | undefined;
}

interface Derived {
  readonly effects: ReadonlyMap<ApplicationName, Effect>;
  readonly applicationSets: readonly ApplicationSetPreview[];
}

interface EffectSource extends ShowingSource {
  readonly deployer: Pick<Deployer, "check" | "naming" | "ownersOf" | "applicationsOfSet" | "expandApplicationSet">;
  readonly settings: Settings;
  readonly log: Log;
  readonly note: (member: Member) => Member;
}

/** Derives what each deployment, or the merge, reaches, and whose rules hold. @param shown the previews of applications not examined. */
export async function deriveEffects(
  examined: readonly Examined[],
  shown: readonly ShownPreview[],
  { found: { everyApplication, everySet }, applicationSets }: SurveyWithSets,
  context: EffectSource,
): Promise<Derived> {
  const live = new Map(everyApplication.map((one) => [one.name, one]));
  const begun = examined.flatMap(({ subject }) => (subject.kind === "new" ? [subject.definition] : []));
  const defined = [...shown.map(({ application }) => application), ...begun].flatMap((one) => one ?? []);
  const parents = new Map([...defined.map((one) => [one.name, one] as const), ...live]);
  const around = { live, parents, everySet, nameOf: await context.deployer.naming(), change: context.change };
  const shallow = await allInTurns(examined, async ({ subject, facts }) => {
    const direct = directMember(subject, context.change);
    return { subject, direct, ...(await appliedBy(subject.name, direct.digest, facts, { around, context })) };
  });
  const previewed = await allInTurns(shown, ({ preview, application, facts }) =>
    appliedBy(preview.application, application && digestOf(application.spec), facts, { around, context }),
  );
  const known = [...shallow, ...previewed];
  const all = byName(known);
  const running = groupedBy(everyApplication, ({ parent }) => parent);
  // What is planned, or changes, may be deleted as well, by the sync of its parent.
  const gone = byName(known.filter(({ facts, digest }) => facts && digest === undefined));
  // A parent that starts a new application needs an approval, since that was rendered by itself alone.
  const driven = byName(shallow.filter(({ subject }) => subject.kind === "live"));
  const bySync: Chain = { appliedBy: driven, gone, running, unseen: NOT_RENDERED };
  // A preview that could not be rendered bars the merge by itself. Only one of several definitions is previewed.
  const byMerge: Chain = { appliedBy: all, gone, running, unseen: undefined };
  const members = [
    ...shallow.map(({ direct }) => direct),
    ...known.flatMap(({ reached }) => reached.map(({ member }) => member)),
    ...applicationSets.flatMap((set) => set.members),
  ];
  const touchedBy = (some: readonly Applied[]) => some.flatMap(({ facts }) => facts?.touched ?? []);
  const overlaps = await overlapsAmong(new Set(touchedBy(known)), live, members, context);
  const bind = (member: Member) =>
    overlaps(definedWith(member, reachedFrom(member, around)), touchedBy(all.get(member.application) ?? []));
  const rendered = (member: Member): Member =>
    context.note({ ...member, namespaces: lookedAt(member, byMerge).flatMap(({ facts }) => facts?.namespaces ?? []) });
  // What only gets another definition changes no objects yet.
  const touching = (member: Member) =>
    member.deploysItself === true || member.definition.kind === "removed" ? rendered(member) : member;
  const effects = await mapInTurns(shallow, ({ subject, facts, direct, reached }): [ApplicationName, Effect] => {
    const deployed = subject.kind === "live";
    const below = subject.kind === "deleted" && subject.live?.cascades === true ? removedWith(direct, byMerge) : [];
    const others = reachedInTurn([...reached, ...below], deployed ? bySync : byMerge);
    const applies = facts === undefined || !deployed ? [] : appliedChildren(facts, around);
    return [subject.name, { members: [rendered(direct), ...others.map(touching)].map(bind), applies }];
  });
  return {
    effects: new Map(effects),
    applicationSets: applicationSets.map((set) => {
      const below = set.members.flatMap((member) => startedBy(member, staysBehind(member.application, shown), byMerge));
      const started = reachedInTurn(below, byMerge).map(touching);
      return { ...set, members: [...set.members.map(rendered), ...started].map(bind) };
    }),
  };
}

function staysBehind(name: ApplicationName, shown: readonly ShownPreview[]): boolean {
  return shown.some(({ preview }) => preview.application === name && preview.content.kind === "left-behind");
}

const byName = (all: readonly Applied[]) => groupedBy(all, ({ application }) => application);

/** What the merge starts or deletes with a member of a set. @param keeps whether what it has deployed stays even if it is removed. */
function startedBy(member: Member, keeps: boolean, chain: Chain): readonly Reached[] {
  return [...renderedAs(member, chain).flatMap(({ reached }) => reached), ...(keeps ? [] : removedWith(member, chain))];
}

async function appliedBy(
  application: ApplicationName,
  digest: string | undefined,
  facts: RenderFacts | undefined,
  { around, context }: { around: Surroundings; context: ShowingSource & Pick<EffectSource, "log" | "deployer"> },
): Promise<Applied> {
  if (facts === undefined) return { application, facts, digest: undefined, reached: [] };
  const specs = facts.children.flatMap(({ head }) => (head === undefined ? [] : [head]));
  const syncsItself = await autoSyncAmong(specs, context.deployer);
  const reachedBy = { kind: "child", of: application } as const;
  const children = facts.children.flatMap((child) => reachedChild(child, reachedBy, { ...around, syncsItself }));
  const generated = await Promise.all(facts.sets.map((set) => reachedBySet(set, around, context)));
  return { application, facts, digest, reached: [...children, ...generated.flat()] };
}

/** What tells whose rules bind a deployment by the namespaces that it reaches. */
export interface BindingSource extends Pick<EffectSource, "settings" | "signal" | "log"> {
  readonly deployer: Pick<Deployer, "ownersOf">;
}

type Live = ReadonlyMap<ApplicationName, Application>;
/** The destinations of applications, by namespace. */
type Places = ReadonlyMap<string, readonly Identity[]>;

/** `boundNow` by a fresh list of the applications. @throws {DeployerFailure} */
export async function boundAfresh(
  plan: Plan,
  context: BindingSource & { readonly deployer: Pick<Deployer, "listApplications">; readonly clock: Clock },
): Promise<Plan> {
  const { deployer, signal, clock } = context;
  return boundNow(plan, await deployer.listApplications(signal, clock.now()), context);
}

/** A plan with the rules of all who deploy to the namespaces of its members now. Whose objects it touches is not asked again. */
export async function boundNow(
  plan: Plan,
  everyApplication: readonly Application[],
  context: BindingSource,
): Promise<Plan> {
  const { applications, applicationSets } = plan;
  const members = [
    ...applications.flatMap(({ effect }) => effect.members),
    ...applicationSets.flatMap((set) => set.members),
  ];
  const live = new Map(everyApplication.map((one) => [one.name, one]));
  const bind = await overlapsAmong(new Set(), live, members, context);
  const bound = (some: readonly Member[]) => some.map((member) => bind(member, []));
  return {
    ...plan,
    applications: applications.map((one) => ({
      ...one,
      effect: { ...one.effect, members: bound(one.effect.members) },
    })),
    applicationSets: applicationSets.map((set) => ({ ...set, members: bound(set.members) })),
  };
}

/** Adds to a member the applications whose rules hold for it besides its own. @param objects keys of what it touches. */
type Bind = (member: Member, objects: readonly string[]) => Member;

/**
 * Finds whose place a member takes: that of the applications in whose namespaces it changes something, and of those that own
 * objects which it touches. Of applications with the same rules, one is enough.
 * @param touched keys of all objects that are asked about.
 * @param own the members themselves: new ones are not among the live applications.
 */
export async function overlapsAmong(
  touched: ReadonlySet<string>,
  live: Live,
  own: readonly Identity[],
  context: BindingSource,
): Promise<Bind> {
  const rules = await liveRules([...live.values()], context);
  const ownRules = await mapInTurns(own, (one) => rulesOf(one, context));
  // Nobody's rules are stricter than anybody else's.
  if (new Set([...rules.values(), ...ownRules]).size < 2) return (member) => member;
  const owners = await ownersOf(touched, context);
  const places = placesByNamespace(live, rules);
  return (member, objects) => {
    const bound = [...ofObjects(member, objects, owners ?? new Map(), live), ...inNamespaces(member, places)];
    return {
      ...member,
      boundAs: distinctRules([...member.boundAs, ...bound], rules),
      problem: member.problem ?? (owners === undefined ? OBJECTS_UNKNOWN : undefined),
    };
  };
}

const OBJECTS_UNKNOWN = "svc could not find out whose objects it changes";

type Ruling = Pick<EffectSource, "settings">;
type LiveRules = ReadonlyMap<ApplicationName, string>;

/** What holds for each application in its place, as a text to compare; the settings remember most of it. */
export async function liveRules(applications: readonly Application[], context: Ruling): Promise<LiveRules> {
  const ruled = ({ name, spec }: Application) => [name, rulesOf(identityOf(name, spec), context)] as const;
  return new Map(await mapInTurns(applications, ruled));
}

function rulesOf(identity: Identity, { settings }: Ruling): string {
  // Rules of other repositories bind only what these repositories define.
  const application = ruledAs({ ...identity, definedIn: [] });
  const access = (["sync", "rollback", "unlock", "plan"] as const).map((command) =>
    settings.accessTo(application, command),
  );
  return JSON.stringify([settings.requirementsFor(application), access]);
}

/** The places of applications by namespace. Two with the same rules in one place are enough: the member may be one of them. */
function placesByNamespace(live: Live, rules: LiveRules): Places {
  const counts = new Map<string, number>();
  const places = [...live.values()].map(({ name, spec }) => identityOf(name, spec));
  const enough = places.filter(({ application, destination: { cluster, namespace } }) => {
    const key = JSON.stringify([cluster, namespace, rules.get(application)]);
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    return count < 2;
  });
  return groupedBy(enough, ({ destination }) => destination.namespace);
}

/** The applications that deploy to the namespaces in which a member creates, changes or deletes something. */
function inNamespaces(member: Member, places: Places): readonly BoundIdentity[] {
  const { definition, destination, namespaces } = member;
  // The objects of a member that was not rendered are not known, and a definition can change all of them.
  const own = definition.kind === "unchanged" ? [] : [destination.namespace];
  return [...new Set([...namespaces, ...own])].flatMap((namespace) =>
    (places.get(namespace) ?? [])
      .filter((other) => other.application !== member.application && maybeSameCluster(other, member))
      .map((other) => ({ ...other, because: `${other.application} deploys to the namespace ${namespace}, too` })),
  );
}

function maybeSameCluster(left: Identity, right: Identity): boolean {
  return sameCluster(left.destination, right.destination) !== "no";
}

function ofObjects(member: Member, objects: readonly string[], owners: Owners, live: Live): readonly BoundIdentity[] {
  const names = new Set(objects.flatMap((key) => owners.get(key) ?? []));
  return [...names].flatMap((name) => {
    const owner = name === member.application ? undefined : live.get(name);
    if (owner === undefined) return [];
    const other = identityOf(name, owner.spec);
    return maybeSameCluster(other, member) ? [{ ...other, because: `it changes objects of ${name}` }] : [];
  });
}

type Owners = ReadonlyMap<string, readonly ApplicationName[]>;

/** Asks only about these objects. Undefined if Argo CD does not answer. */
async function ownersOf(
  keys: ReadonlySet<string>,
  { deployer, signal, log }: BindingSource,
): Promise<Owners | undefined> {
  if (keys.size === 0) return new Map();
  try {
    return await deployer.ownersOf(keys, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof DeployerFailure)) throw error;
    log.warn({ err: error }, "could not list the objects of the applications");
    return undefined;
  }
}

function distinctRules(bound: readonly BoundIdentity[], rules: LiveRules): readonly BoundIdentity[] {
  const byRules = new Map<string, BoundIdentity>();
  for (const one of bound) {
    // An earlier place of the application itself has rules of its own.
    const key = rules.get(one.application) ?? "";
    const known = one.because === BEFORE ? JSON.stringify(one) : key;
    if (!byRules.has(known)) byRules.set(known, one);
  }
  return [...byRules.values()];
}

/** Every child that a sync applies, for a later check whether one was changed in Argo CD. */
function appliedChildren({ children }: RenderFacts, { nameOf }: Surroundings): Effect["applies"] {
  return children.flatMap(({ name, namespace, head }) =>
    head === undefined || name === "" ? [] : [{ application: nameOf(namespace, name), digest: digestOf(head) }],
  );
}

interface Applied extends Pick<Member, "application"> {
  readonly facts: RenderFacts | undefined;
  /** Undefined if it was not rendered at the head with the definition of this digest. */
  readonly digest: string | undefined;
  readonly reached: readonly Reached[];
}
