/** Every name that users, hosts or the store see, written once. The specification fixes the identifiers. */

/** The service's name, its command word and the prefix of its keys. */
export const SERVICE = "svc";

/** Wire ids of the code hosts: `hosta` is GitHub, `hostb` is GitLab. */
export const HOST_IDS = ["hosta", "hostb"] as const;
export type HostId = (typeof HOST_IDS)[number];

/** Names of outside systems for people. */
export const HOST_TITLES: Readonly<Record<HostId, string>> = { hosta: "GitHub", hostb: "GitLab" };
export const DEPLOYER_TITLE = "Argo CD";
export const STORE_TITLE = "Redis";

/** Precedes a repository's name in settings and annotations, as in `github:acme/deploy`; messages use the first one. */
export const HOST_PREFIXES: Readonly<Record<HostId, readonly [string, string]>> = {
  hosta: ["github", "hosta"],
  hostb: ["gitlab", "hostb"],
};

/** Precedes a change request's number: `#7` or `!7`. */
export const CHANGE_REQUEST_SIGILS: Readonly<Record<HostId, string>> = { hosta: "#", hostb: "!" };

/** The part of a change request's address that follows the repository's and precedes the number. */
export const CHANGE_REQUEST_PATHS: Readonly<Record<HostId, string>> = { hosta: "pull", hostb: "-/merge_requests" };

export const SERVER_FILE = `${SERVICE}.yaml`;
/** How a refusal names the origin of the rules that hold for all repositories. */
export const SERVER_RULES = `the server's ${SERVER_FILE}`;
export const REPOSITORY_FILE = `.${SERVICE}.yaml`;

/** The commit status on the head of a change request, which branch protection may require. */
export const STATUS_NAME = `${SERVICE}/sync`;

export const WEBHOOK_PATHS: Readonly<Record<HostId, string>> = { hosta: "/webhook/hosta", hostb: "/webhook/hostb" };

/** Header of the secret token on `/webhook/hostb`; GitLab's own `X-Gitlab-Token` is accepted beside it. */
export const HOSTB_TOKEN_HEADERS = ["x-hostb-token", "x-gitlab-token"] as const;

export const SESSION_COOKIE = `${SERVICE}_session`;

export const API_TOKEN_PREFIX = `${SERVICE}_api_`;

/** Keys in the store, or what they begin with. All begin with the service's name. */
export const KEYS = {
  lock: `${SERVICE}:lock:`,
  /** Which keys exist of each kind that svc lists: the names after their prefix. */
  index: `${SERVICE}:index:`,
  waiting: `${SERVICE}:waiting:`,
  hold: `${SERVICE}:hold:`,
  follow: `${SERVICE}:follow:`,
  followed: `${SERVICE}:followed`,
  plan: `${SERVICE}:plan:`,
  /** Which repository's change request was planned last under a name. */
  planOwner: `${SERVICE}:plan-owner:`,
  deployment: `${SERVICE}:deployment:`,
  /** Own statuses of change requests by head commit, the head of each, how often and by whom the commit's status is set. */
  statuses: `${SERVICE}:statuses:`,
  head: `${SERVICE}:head:`,
  statusWrites: `${SERVICE}:status-writes:`,
  statusLease: `${SERVICE}:status-lease:`,
  /** Marks of change requests whose texts may be out of date, what these show, and whom an application concerns. The braces as below. */
  marks: `${SERVICE}:shown:{marks}:`,
  written: `${SERVICE}:shown:written:`,
  changeNote: `${SERVICE}:shown:change:`,
  concerned: `${SERVICE}:shown:concerned:`,
  /** The braces keep all people in one slot of a Redis Cluster, since one script reads several of them. */
  user: `${SERVICE}:{user}:`,
  standing: `${SERVICE}:{user}-standing:`,
  session: `${SERVICE}:session:`,
  loginAttempt: `${SERVICE}:login-attempts:`,
  /** Recent writes of an account on a code host. */
  content: `${SERVICE}:content:`,
  /** The braces keep all keys of the queue in one slot of a Redis Cluster, as its scripts require. */
  queue: `${SERVICE}:{queue}`,
  /** Notifications that are queued or were delivered recently. */
  outbox: `${SERVICE}:{notifications}`,
  /** The progress of running commands, and the channel that announces it. */
  live: `${SERVICE}:live:`,
  liveChannel: `${SERVICE}:live`,
  audit: `${SERVICE}:audit`,
} as const;

/** Labels and annotations on Argo CD's objects. */
export const LABELS = {
  temporary: "svc.dev/temporary",
  changeRequest: "svc.dev/change-request",
  expires: "svc.dev/expires",
  for: "svc.dev/for",
  repository: "svc.dev/repository",
} as const;

/** Applications without this prefix are never deleted. */
export const TEMPORARY_NAME_PREFIX = `${SERVICE}-tmp-`;

/** Entries in a sync operation's `infos`: the run's id and the change request. */
export const SYNC_INFO = { run: `${SERVICE}-run`, changeRequest: `${SERVICE}-change-request` } as const;
