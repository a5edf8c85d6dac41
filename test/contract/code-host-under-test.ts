import { expect } from "@jest/globals";
import type { FileChanges, Forge } from "../../sandbox/forge.js";
import { GitStore, type MergeMethod } from "../../sandbox/git/git-store.js";
import { startGitHub } from "../../sandbox/github/start-github.js";
import { startGitLab } from "../../sandbox/gitlab/gitlab.js";
import type { InstanceOptions } from "../../sandbox/gitlab/model/instance.js";
import { appKeys, GITHUB_APP, GITLAB_TOKEN } from "../../sandbox/world.js";
import { repositoryName, type RepositoryName } from "../../src/core/model/brand.js";
import type { ChangeRequest, ChangeRequestRef } from "../../src/core/model/change-request.js";
import type { CodeHost } from "../../src/core/ports/code-host.js";
import { createGitHubHost } from "../../src/hosts/github/host.js";
import { createGitLabHost } from "../../src/hosts/gitlab/host.js";
import { rsaKey } from "../config/rsa-key.js";
import { compareCalls } from "../host-calls.js";
import { hostParts } from "../hosts/host-parts.js";
import { JumpClock } from "../jump-clock.js";
import { keptLogger } from "../secrets-in-logs/kept-logger.js";

export interface ClientOptions {
  readonly clock: JumpClock;
  readonly requestTimeoutMs?: number;
  readonly wrongCredentials?: boolean;
}

/** The API calls that the suites count and hinder, by their decoded paths. */
export interface ApiPaths {
  readonly changeRequest: RegExp;
  readonly approvals: RegExp;
  readonly permission: RegExp;
  /** List and creation of comments. */
  readonly comments: RegExp;
  readonly comment: RegExp;
  readonly merge: RegExp;
  readonly update: RegExp;
  /** The last call of a revert. */
  readonly revert: { readonly method: string; readonly path: RegExp; readonly nth: number };
  readonly branch: RegExp;
  readonly deletedBranch: RegExp;
}

/** What a host and its messages call things. */
export interface HostTraits {
  readonly title: "GitHub" | "GitLab";
  readonly sigil: "#" | "!";
  readonly repository: RepositoryName;
  readonly editMethod: "PATCH" | "PUT";
  readonly paths: ApiPaths;
  readonly credentialsCure: RegExp;
  readonly permissionCure: RegExp;
  readonly visibilityCure: RegExp;
  readonly addressKey: string;
  /** Texts of a comment may have this many characters. */
  readonly longestComment: number;
  /** Where the repository decides which merge methods a caller may choose. */
  readonly allowMergeMethods: ((...methods: readonly MergeMethod[]) => void) | undefined;
  /** Accounts that stay members and may do nothing any more; only GitLab has them. */
  /** Has merges make no commit of their own; undefined where reverts do not depend on it. */
  readonly fastForward: ((on: boolean) => void) | undefined;
  readonly block: ((login: string) => void) | undefined;
  /** Members whom an owner has yet to approve; only GitLab has them. */
  readonly awaitApproval: ((login: string) => void) | undefined;
  /** The word of a refused approval by somebody who may not give one; undefined where it is taken and does not count. */
  readonly refusesApproval: RegExp | undefined;
  readonly authorMayApprove: boolean;
  /** Whether the code owners' approval can be required. */
  readonly hasCodeOwners: boolean;
  /** A team or group in the host's notation. */
  readonly team: string;
  /** A commit's status stays away until CI has made a pipeline. */
  readonly statusNeedsPipeline: boolean;
  readonly longestStatus: number;
}

export interface CodeHostUnderTest extends HostTraits {
  readonly forge: Forge;
  readonly store: GitStore;
  readonly clock: JumpClock;
  readonly host: CodeHost;
  /** Another adapter for the same forge. */
  client(options: ClientOptions): CodeHost;
  /** Quick actions that a comment of ours would have set off. */
  readonly quickActions: () => readonly unknown[];
  ref(number: number): ChangeRequestRef;
  /** Opens a change request and reads it. */
  open(changes: FileChanges, more?: Partial<Parameters<Forge["open"]>[0]>): Promise<ChangeRequest>;
  read(number: number): Promise<ChangeRequest>;
  /** How often a call was received since `since`, an earlier `forge.requests.length`. */
  sent(method: string, path: RegExp, since: number): number;
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly edition?: InstanceOptions["edition"];
  readonly approvalsRequired?: number;
  readonly approvalsSyncingReads?: number;
}

export const ALIAS = "git.example.com";
const FILES: FileChanges = {
  "apps/web.yaml": "replicas: 1\n",
  "apps/api.yaml": "replicas: 1\n",
  "README.md": "Deployments\n",
};

export async function startGitHubUnderTest({ approvalsRequired = 0 }: StartOptions = {}): Promise<CodeHostUnderTest> {
  const repository = repositoryName("acme/deploy");
  const store = await GitStore.create();
  const { publicKey, privateKey } = appKeys();
  const forge = await startGitHub({ store, app: { ...GITHUB_APP, publicKey } });
  await forge.createRepository(repository, FILES, { private: true });
  forge.requireReviews(repository, approvalsRequired);
  const client = ({ clock, requestTimeoutMs, wrongCredentials }: ClientOptions): CodeHost =>
    createGitHubHost(
      {
        appId: GITHUB_APP.id,
        privateKey: wrongCredentials === true ? rsaKey() : privateKey,
        apiUrl: forge.apiUrl,
        webUrl: forge.url,
        aliases: [ALIAS],
        requestTimeoutMs,
        deployments: true,
        environmentName: "{cluster}/{namespace}/{application}",
      },
      hostParts(clock, keptLogger(privateKey)),
    );
  return underTest(forge, store, client, () => [], {
    title: "GitHub",
    sigil: "#",
    repository,
    editMethod: "PATCH",
    paths: {
      changeRequest: /\/pulls\/\d+$/,
      approvals: /\/graphql$/,
      permission: /\/permission$/,
      comments: /\/issues\/\d+\/comments$/,
      comment: /\/issues\/comments\/\d+$/,
      merge: /\/pulls\/\d+\/merge$/,
      update: /\/pulls\/\d+\/update-branch$/,
      revert: { method: "POST", path: /\/graphql$/, nth: 2 },
      branch: /\/branches\/./,
      deletedBranch: /\/git\/refs\/heads\/./,
    },
    credentialsCure: /check github\.app_id and github\.private_key/,
    permissionCure: /the App's permissions/,
    visibilityCure: /GitHub App is installed on the repository/,
    addressKey: "github.api_url",
    longestComment: 65_536,
    allowMergeMethods: (...methods) => forge.allowMergeMethods(repository, ...methods),
    fastForward: undefined,
    block: undefined,
    awaitApproval: undefined,
    refusesApproval: undefined,
    authorMayApprove: false,
    hasCodeOwners: true,
    team: "acme/platform",
    statusNeedsPipeline: false,
    longestStatus: 140,
  });
}

export async function startGitLabUnderTest(options: StartOptions = {}): Promise<CodeHostUnderTest> {
  const repository = repositoryName("acme/platform/gitops");
  const store = await GitStore.create();
  const forge = await startGitLab({ store, token: GITLAB_TOKEN, ...options });
  await forge.createRepository(repository, FILES);
  const client = ({ clock, requestTimeoutMs, wrongCredentials }: ClientOptions): CodeHost =>
    createGitLabHost(
      {
        url: forge.url,
        token: wrongCredentials === true ? "glpat-expired" : GITLAB_TOKEN,
        aliases: [ALIAS],
        requestTimeoutMs,
        environments: true,
        environmentName: "{cluster}/{namespace}/{application}",
      },
      hostParts(clock, keptLogger(GITLAB_TOKEN)),
    );
  return underTest(forge, store, client, () => forge.quickActions, {
    title: "GitLab",
    sigil: "!",
    repository,
    editMethod: "PUT",
    paths: {
      changeRequest: /\/merge_requests\/\d+$/,
      approvals: /\/merge_requests\/\d+\/approvals$/,
      permission: /\/members\/all\/\d+$/,
      comments: /\/merge_requests\/\d+\/notes$/,
      comment: /\/merge_requests\/\d+\/notes\/\d+$/,
      merge: /\/merge_requests\/\d+\/merge$/,
      update: /\/merge_requests\/\d+\/rebase$/,
      revert: { method: "POST", path: /\/merge_requests$/, nth: 1 },
      branch: /\/repository\/branches\/./,
      deletedBranch: /\/repository\/branches\/./,
    },
    credentialsCure: /check gitlab\.token/,
    permissionCure: /the token needs the scope api/,
    visibilityCure: /the token's account is a member of the project/,
    addressKey: "gitlab.url",
    longestComment: 1_000_000,
    allowMergeMethods: undefined,
    fastForward: (on) => forge.fastForward(repository, on),
    block: (login) => forge.block(login),
    awaitApproval: (login) => forge.awaitApproval(login),
    refusesApproval: /401 Unauthorized/,
    authorMayApprove: true,
    hasCodeOwners: options.edition === "premium",
    team: "acme/groups/platform",
    statusNeedsPipeline: true,
    longestStatus: 255,
  });
}

function underTest(
  forge: Forge,
  store: GitStore,
  client: (options: ClientOptions) => CodeHost,
  quickActions: () => readonly unknown[],
  traits: HostTraits,
): CodeHostUnderTest {
  const clock = new JumpClock();
  const host = client({ clock });
  const { repository } = traits;
  for (const login of ["ana", "bo", "cy"]) forge.setAccess(repository, login, "write");
  const ref = (number: number): ChangeRequestRef => ({ host: host.id, repository, number });
  const read = (number: number): Promise<ChangeRequest> => host.getChangeRequest(ref(number));
  return {
    ...traits,
    forge,
    store,
    clock,
    host,
    client,
    quickActions,
    ref,
    read,
    open: async (changes, more = {}) => read(await forge.open({ repository, by: "ana", changes, ...more })),
    sent: (method, path, since) =>
      forge.requests.slice(since).filter((one) => one.method === method && path.test(decodeURIComponent(one.path)))
        .length,
    async stop() {
      await forge.stop();
      await store.remove();
      expect(compareCalls(forge).undescribed).toEqual([]);
    },
  };
}
