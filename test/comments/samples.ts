import type { Links } from "../../src/comments/parts.js";
import { storedFacts } from "../../src/core/facts/read-facts.js";
import { applicationName, repositoryName, revision } from "../../src/core/model/brand.js";
import type { ChangeRequest } from "../../src/core/model/change-request.js";
import type { CheckOutcome, CheckResult } from "../../src/core/model/check.js";
import type { Deployment } from "../../src/core/model/deployment.js";
import type { Member } from "../../src/core/model/effect.js";
import type { Hold } from "../../src/core/model/hold.js";
import type { Lock } from "../../src/core/model/lock.js";
import type { ResourceChange } from "../../src/core/model/plan/manifest-diff.js";
import type {
  ApplicationPlan,
  ApplicationSetPreview,
  Evaluated,
  Plan,
  Preview,
  PreviewContent,
  PreviewOrigin,
} from "../../src/core/model/plan/plan.js";
import type { Settings } from "../../src/core/model/settings.js";
import type { Facts } from "../../src/core/policy/facts.js";
import { hostWords } from "../../src/hosts/registry.js";
import { type HostId, SERVICE } from "../../src/names.js";
import { sampleSettings } from "../core/sample-settings.js";

/** The words of every host where the command word is the default. */
export const WORDS = hostWords(SERVICE);

export const HEAD = revision("c0ffee00".repeat(5));
export const BASE = revision("ba5eba11".repeat(5));

/** Where comments lead if nobody can log in. */
export const LINKS: Links = {
  deployer: "https://argocd.example.com",
  head: `https://host.example.com/acme/deploy/commit/${HEAD}`,
  page: undefined,
  hosts: { hosta: "https://host.example.com", hostb: "https://gitlab.example.com" },
};

export function sampleChange(host: HostId = "hosta"): ChangeRequest {
  return {
    host,
    repository: repositoryName("acme/deploy"),
    number: 7,
    title: "Change web",
    webUrl: "https://host.example.com/acme/deploy/7",
    author: { id: "1", login: "ana", bot: false },
    state: "open",
    draft: false,
    fork: false,
    headBranch: "change-7",
    baseBranch: "main",
    defaultBranch: "main",
    headRevision: HEAD,
    baseRevision: BASE,
    mergeBase: BASE,
    mergeability: "mergeable",
    repositoryUrls: ["https://host.example.com/acme/deploy.git"],
  };
}

export function sampleLock(application: string, number = 1, user = "ana"): Lock {
  return {
    application: applicationName(application),
    holder: { host: "hosta", repository: repositoryName("acme/deploy"), number },
    user,
    timestamp: "2026-03-02T09:14:07.000Z",
    planRevision: HEAD,
    sourceFile: undefined,
  };
}

/** A changed ApplicationSet of which nothing is to be told but what is given. */
export function sampleSet(name: string, more: Partial<ApplicationSetPreview> = {}): ApplicationSetPreview {
  const nothing = { added: [], removed: [], changed: [], members: [], notes: [], owned: [] };
  return { name, sourceFile: undefined, problem: undefined, ...nothing, ...more };
}

export function samplePlan(applications: readonly ApplicationPlan[], more: Partial<Plan> = {}): Plan {
  return {
    change: sampleChange(),
    head: HEAD,
    baseBranch: "main",
    plannedAt: "2026-03-02T09:14:07.000Z",
    applications,
    applicationSets: [],
    notDeployed: [],
    previews: [],
    released: [],
    unread: [],
    notes: [],
    ...more,
  };
}

export function sampleApplication(
  name: string,
  what: Partial<ApplicationPlan> & Pick<ApplicationPlan, "kind">,
): ApplicationPlan {
  const common = {
    application: applicationName(name),
    lock: { kind: "ours" },
    sourceFile: undefined,
    warnings: [],
    atMerge: undefined,
    effect: { members: [sampleMember(name)], applies: [] },
  };
  return { ...common, ...what } as ApplicationPlan;
}

/** An application in an effect, of which nothing changes but what is given. */
export function sampleMember(name: string, more: Partial<Member> = {}): Member {
  return {
    application: applicationName(name),
    project: "default",
    destination: { cluster: "https://kubernetes.default.svc", namespace: "guestbook" },
    namespaces: [],
    reachedBy: { kind: "direct" },
    definition: { kind: "unchanged" },
    digest: "0".repeat(32),
    sources: [],
    boundAs: [],
    problem: undefined,
    ...more,
  };
}

const NO_NAMES = { created: [], changed: [], deleted: [] };

export function evaluated(resources: readonly ResourceChange[], more: Partial<Evaluated["diff"]> = {}): Evaluated {
  const counted = resources.filter(({ hook }) => !hook);
  return {
    kind: "evaluated",
    verdict: resources.length > 0 ? "changed" : "unchanged",
    writesDefinition: false,
    sources: [],
    diff: {
      created: counted.filter(({ action }) => action === "create").length,
      updated: counted.filter(({ action }) => action === "update").length,
      deleted: counted.filter(({ action }) => action === "delete").length,
      hooksChanged: resources.filter(({ hook }) => hook).length,
      resources,
      hiddenSecrets: false,
      secrets: [],
      onlyCommit: [],
      cautions: [],
      dangers: [],
      children: NO_NAMES,
      sets: NO_NAMES,
      basis: { kind: "branch" },
      ...more,
    },
  };
}

/** A required check, which members of acme/platform may override. */
export function sampleCheck(name: string, outcome: CheckOutcome = { kind: "passed" }): CheckResult {
  return { name, required: true, overridableBy: ["acme/platform"], definition: "", outcome };
}

/** A preview of these resources. */
export function compared(
  resources: readonly ResourceChange[],
  more: Partial<Evaluated["diff"]> = {},
): Extract<PreviewContent, { readonly kind: "compared" }> {
  return { kind: "compared", diff: evaluated(resources, more).diff };
}

/** An application that the ApplicationSet `shops` adds, changes or removes. */
export function preview(name: string, change: PreviewOrigin["change"], content: PreviewContent): Preview {
  return { application: applicationName(name), origin: { kind: "generated", of: "shops", change }, content };
}

export function resource(title: string, action: ResourceChange["action"], diff: string, hook = false): ResourceChange {
  return { title, action, diff, hook, kind: title.split(" ")[0] ?? "", whole: true };
}

/** What the stores hold besides the plan, and what else is known. */
export interface SampleFacts extends Partial<Omit<Facts, "settings" | "words" | "plan" | "applications" | "others">> {
  readonly settings?: Partial<Settings>;
  /** If absent, those that the plan tells of. */
  readonly locks?: readonly Lock[];
  /** Those of other change requests as well. */
  readonly records?: readonly Deployment[];
  readonly holds?: readonly Hold[];
}

/** The facts about the change request of a plan: it holds what its plan says, and needs no approval. */
export function sampleFacts(
  plan: Plan | undefined,
  { settings, locks, records = [], holds = [], ...more }: SampleFacts = {},
): Facts {
  const change = more.change ?? sampleChange();
  const stored = { change, words: WORDS[change.host], settings: sampleSettings(settings), plan, records, holds };
  const steps = storedFacts({ ...stored, locks: locks ?? locksIn(plan), now: new Date("2026-03-01T14:00:00Z") });
  for (;;) {
    const step = steps.next();
    if (step.done === true) return { ...step.value, ...more };
  }
}

function locksIn(plan: Plan | undefined): readonly Lock[] {
  return (plan?.applications ?? []).flatMap(({ application, lock }) => {
    if (lock.kind === "held") return [lock.by];
    return lock.kind === "ours" ? [sampleLock(application, sampleChange().number)] : [];
  });
}

/** "Deployed, not merged" of the sample change request's head. */
export function sampleDeployment(application: string, more: Partial<Deployment> = {}): Deployment {
  return {
    application: applicationName(application),
    change: sampleChange(),
    revision: HEAD,
    outcome: "succeeded",
    pins: [],
    specBefore: {},
    specWritten: undefined,
    approvers: [],
    user: "ana",
    timestamp: "2026-03-02T09:14:07.000Z",
    ...more,
  };
}
