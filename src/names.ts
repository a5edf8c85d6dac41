/** Every wire word of the service, written once. The identifiers are the specification's and stay exact. */

/** The service's name, its command word and the prefix of its keys. */
export const SERVICE = "svc";

/** Wire ids of the code hosts: `hosta` is GitHub, `hostb` is GitLab. */
export const HOST_IDS = ["hosta", "hostb"] as const;
export type HostId = (typeof HOST_IDS)[number];

/** What people call the outside systems; used in every page, message and document. */
export const HOST_TITLES: Readonly<Record<HostId, string>> = { hosta: "GitHub", hostb: "GitLab" };
export const DEPLOYER_TITLE = "Argo CD";
export const STORE_TITLE = "Redis";

/** How a host's people write the number of a change request: `#7` or `!7`. */
export const CHANGE_REQUEST_SIGILS: Readonly<Record<HostId, string>> = { hosta: "#", hostb: "!" };

export const SERVER_FILE = `${SERVICE}.yaml`;
export const REPOSITORY_FILE = `.${SERVICE}.yaml`;

/** The one commit status that we set on the head of a change request; people require it by this name. */
export const STATUS_NAME = `${SERVICE}/sync`;

export const WEBHOOK_PATHS: Readonly<Record<HostId, string>> = { hosta: "/webhook/hosta", hostb: "/webhook/hostb" };

/** Header of the secret token on `/webhook/hostb`; GitLab's own `X-Gitlab-Token` is accepted beside it. */
export const HOSTB_TOKEN_HEADERS = ["x-hostb-token", "x-gitlab-token"] as const;

/** The cookie of a web session. */
export const SESSION_COOKIE = `${SERVICE}_session`;

/** Every key in the store begins with this. */
export const STORE_PREFIX = `${SERVICE}:`;
export const LOCK_KEY_PREFIX = `${SERVICE}:lock:`;
export const PLAN_KEY_PREFIX = `${SERVICE}:plan:`;
export const DEPLOYMENT_KEY_PREFIX = `${SERVICE}:deployment:`;
/** People who logged in to the pages. */
export const USER_KEY_PREFIX = `${SERVICE}:user:`;
export const SESSION_KEY_PREFIX = `${SERVICE}:session:`;
/** How often an address tried to log in. */
export const LOGIN_ATTEMPT_KEY_PREFIX = `${SERVICE}:login-attempts:`;
/** The queue of events; the braces keep all its keys in one slot of a Redis Cluster, for its scripts. */
export const QUEUE_KEY_PREFIX = `${SERVICE}:{queue}`;
/** How far the running command of a change request is, and the channel that tells of it. */
export const LIVE_KEY_PREFIX = `${SERVICE}:live:`;
export const LIVE_CHANNEL = `${SERVICE}:live`;
/** The audit trail, a stream. */
export const AUDIT_KEY = `${SERVICE}:audit`;

/** Annotations and labels that we put on Argo CD's objects, or read from them. */
export const LABEL_TEMPORARY = "svc.dev/temporary";
export const LABEL_CHANGE_REQUEST = "svc.dev/change-request";
export const ANNOTATION_EXPIRES = "svc.dev/expires";
export const ANNOTATION_FOR = "svc.dev/for";
export const ANNOTATION_REPOSITORY = "svc.dev/repository";

/** Names of temporary Applications begin with this; nothing else may be deleted by us. */
export const TEMPORARY_NAME_PREFIX = `${SERVICE}-tmp-`;

/** Name of the entry in a sync operation's `infos` that carries our correlation id. */
export const SYNC_INFO_RUN = `${SERVICE}-run`;
/** Name of the entry in a sync operation's `infos` that names the change request. */
export const SYNC_INFO_CHANGE_REQUEST = `${SERVICE}-change-request`;
