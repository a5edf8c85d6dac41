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
export const REPOSITORY_FILE = `.${SERVICE}.yaml`;

/** The commit status on the head of a change request, which branch protection may require. */
export const STATUS_NAME = `${SERVICE}/sync`;

export const WEBHOOK_PATHS: Readonly<Record<HostId, string>> = { hosta: "/webhook/hosta", hostb: "/webhook/hostb" };

/** Header of the secret token on `/webhook/hostb`; GitLab's own `X-Gitlab-Token` is accepted beside it. */
export const HOSTB_TOKEN_HEADERS = ["x-hostb-token", "x-gitlab-token"] as const;

export const SESSION_COOKIE = `${SERVICE}_session`;

export const API_TOKEN_PREFIX = `${SERVICE}_api_`;

/** Every key in the store begins with the service's name. */
export const LOCK_KEY_PREFIX = `${SERVICE}:lock:`;
export const WAITING_KEY_PREFIX = `${SERVICE}:waiting:`;
export const HOLD_KEY_PREFIX = `${SERVICE}:hold:`;
export const FOLLOW_KEY_PREFIX = `${SERVICE}:follow:`;
export const FOLLOWED_KEY = `${SERVICE}:followed`;
export const PLAN_KEY_PREFIX = `${SERVICE}:plan:`;
/** The name of a repository when a change request was planned last. */
export const PLAN_NAME_KEY_PREFIX = `${SERVICE}:plan-name:`;
export const DEPLOYMENT_KEY_PREFIX = `${SERVICE}:deployment:`;
/** Own statuses of change requests by head commit, the head of each, how often and by whom the commit's status is set. */
export const STATUSES_KEY_PREFIX = `${SERVICE}:statuses:`;
export const HEAD_KEY_PREFIX = `${SERVICE}:head:`;
export const STATUS_WRITES_KEY_PREFIX = `${SERVICE}:status-writes:`;
export const STATUS_LEASE_KEY_PREFIX = `${SERVICE}:status-lease:`;
/** Marks of change requests whose texts may be out of date, what these show, and whom an application concerns. The braces as below. */
export const MARKS_KEY_PREFIX = `${SERVICE}:shown:{marks}:`;
export const WRITTEN_KEY_PREFIX = `${SERVICE}:shown:written:`;
export const CHANGE_NOTE_KEY_PREFIX = `${SERVICE}:shown:change:`;
export const CONCERNED_KEY_PREFIX = `${SERVICE}:shown:concerned:`;
/** The braces keep all people in one slot of a Redis Cluster, since one script reads several of them. */
export const USER_KEY_PREFIX = `${SERVICE}:{user}:`;
export const STANDING_KEY_PREFIX = `${SERVICE}:{user}-standing:`;
export const SESSION_KEY_PREFIX = `${SERVICE}:session:`;
export const LOGIN_ATTEMPT_KEY_PREFIX = `${SERVICE}:login-attempts:`;
/** Recent writes of an account on a code host. */
export const CONTENT_KEY_PREFIX = `${SERVICE}:content:`;
/** The braces keep all keys of the queue in one slot of a Redis Cluster, as its scripts require. */
export const QUEUE_KEY_PREFIX = `${SERVICE}:{queue}`;
/** Notifications that are queued or were delivered recently. */
export const OUTBOX_KEY_PREFIX = `${SERVICE}:{notifications}`;
/** The progress of running commands, and the channel that announces it. */
export const LIVE_KEY_PREFIX = `${SERVICE}:live:`;
export const LIVE_CHANNEL = `${SERVICE}:live`;
export const AUDIT_KEY = `${SERVICE}:audit`;

/** Labels and annotations on Argo CD's objects. */
export const LABEL_TEMPORARY = "svc.dev/temporary";
export const LABEL_CHANGE_REQUEST = "svc.dev/change-request";
export const ANNOTATION_EXPIRES = "svc.dev/expires";
export const ANNOTATION_FOR = "svc.dev/for";
export const ANNOTATION_REPOSITORY = "svc.dev/repository";

/** Applications without this prefix are never deleted. */
export const TEMPORARY_NAME_PREFIX = `${SERVICE}-tmp-`;

/** Entries in a sync operation's `infos`: the run's id and the change request. */
export const SYNC_INFO_RUN = `${SERVICE}-run`;
export const SYNC_INFO_CHANGE_REQUEST = `${SERVICE}-change-request`;
