import type { AuditLog } from "./audit.js";
import type { CodeHost } from "./code-host.js";
import type { Deployer } from "./deployer.js";
import type { LiveFeed } from "./live-feed.js";
import type { Notifications } from "./notifications.js";
import type { Repositories } from "./repositories.js";
import type {
  DeploymentStore,
  HoldStore,
  LockStore,
  PlanStore,
  RolloutStore,
  StatusStore,
  WaitStore,
} from "./stores.js";

/** What a method does outside this process; the fence of a run blocks some of it. */
export type Reach =
  /** Changes nothing that anybody relies on. */
  | "read"
  /** Writes for people to read: blocked once another replica has taken over. */
  | "speak"
  /** Changes what is deployed, locked or stored: also blocked while it is unknown whether another replica has taken over. */
  | "act"
  /** Keeps a record of what has happened: never blocked. */
  | "record";

/** The reach of every method of a port: a new method does not compile until it is classed. */
type ReachOf<Port> = Readonly<Record<MethodOf<Port>, Reach>>;

type MethodOf<Port> = {
  [Key in keyof Port]-?: Extract<Port[Key], (...args: never[]) => unknown> extends never ? never : Key;
}[keyof Port];

export interface RunPorts {
  readonly host: CodeHost;
  readonly repositories: Repositories;
  readonly deployer: Deployer;
  readonly locks: LockStore;
  readonly waiting: WaitStore;
  readonly holds: HoldStore;
  readonly rollouts: RolloutStore;
  readonly plans: PlanStore;
  readonly deployments: DeploymentStore;
  readonly statuses: StatusStore;
  readonly audit: AuditLog;
  readonly live: LiveFeed;
  readonly notifications: Notifications;
}

export const PORT_REACH: { readonly [Name in keyof RunPorts]: ReachOf<RunPorts[Name]> } = {
  host: {
    self: "read",
    reach: "read",
    version: "read",
    tokenExpires: "read",
    scarceUntil: "read",
    getChangeRequest: "read",
    state: "read",
    recentActivity: "read",
    repositories: "read",
    mergeability: "read",
    reviews: "read",
    authorship: "read",
    isProgram: "read",
    mayCommand: "read",
    mayRead: "read",
    belongsToAny: "read",
    readFile: "read",
    cloneSource: "read",
    listOwnComments: "read",
    commentUrl: "read",
    commitUrl: "read",
    shownDeployment: "read",
    missingPermissions: "read",
    webhookProblems: "read",
    queueProblems: "read",
    installedOn: "read",
    openWithHead: "read",
    mergeGroup: "read",
    postComment: "speak",
    editComment: "speak",
    minimise: "speak",
    react: "speak",
    setStatus: "speak",
    showDeployment: "speak",
    merge: "act",
    updateBranch: "act",
    revert: "act",
  },
  repositories: { open: "read", fetchHead: "read" },
  deployer: {
    check: "read",
    naming: "read",
    listApplications: "read",
    uncompared: "read",
    rolloutLines: "read",
    ownersOf: "read",
    findApplication: "read",
    isGone: "read",
    // A temporary Application is created and deleted in here, and deploys nothing.
    renderManifests: "read",
    renderingSettings: "read",
    whyNotFresh: "read",
    liveResources: "read",
    tryObjects: "read",
    expandApplicationSet: "read",
    listApplicationSets: "read",
    findApplicationSet: "read",
    applicationsOfSet: "read",
    follow: "read",
    findOutcome: "read",
    healthAfter: "read",
    updateSpec: "act",
    sync: "act",
    sweep: "act",
  },
  locks: { find: "read", list: "read", ping: "read", acquire: "act", release: "act" },
  waiting: { of: "read", list: "read", join: "act", leave: "act" },
  holds: { list: "read", save: "act", remove: "act" },
  rollouts: { find: "read", list: "read", save: "record" },
  plans: { find: "read", save: "act" },
  deployments: { ofApplication: "read", ofChange: "read", list: "read", save: "act", remove: "act" },
  // Like the status on the host, these only show something: they deploy, lock and merge nothing.
  statuses: {
    ofHead: "read",
    listShared: "read",
    exclusively: "read",
    save: "speak",
    remove: "speak",
    countWrite: "record",
  },
  audit: { list: "read", record: "record" },
  live: { subscribe: "read", publish: "record" },
  notifications: { publish: "speak" },
};
