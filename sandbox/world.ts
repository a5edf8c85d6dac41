import { generateKeyPairSync } from "node:crypto";
import { startArgoCd, type ArgoCd, type ArgoCdOptions } from "./argocd/argocd.js";
import type { Forge } from "./forge.js";
import { GitStore } from "./git/git-store.js";
import type { GitHubForge } from "./github/github-forge.js";
import { startGitHub } from "./github/start-github.js";
import type { GitLabForge } from "./gitlab/gitlab-forge.js";
import { startGitLab } from "./gitlab/gitlab.js";
import type { InstanceOptions } from "./gitlab/model/instance.js";
import { perProcess } from "./per-process.js";

export const GITLAB_TOKEN = "glpat-sandbox-token";
export const GITHUB_APP = { id: 424242, slug: "svc-sandbox" };
/** The service's account at Argo CD. */
export const ARGOCD_ACCOUNT = "svc";

/** The App's key pair, PEM. */
export function appKeys(): { readonly publicKey: string; readonly privateKey: string } {
  return perProcess("app keys", () =>
    generateKeyPairSync("rsa", {
      modulusLength: 2048,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    }),
  );
}

export interface ForgeOptions {
  readonly github?: boolean;
  readonly gitlab?: boolean | Pick<InstanceOptions, "edition" | "approvalsRequired">;
}

/** Up to two code hosts on loopback. */
export interface Forges {
  readonly github: GitHubForge | undefined;
  readonly gitlab: GitLabForge | undefined;
  /** Those that run, with their repositories. */
  readonly all: readonly { readonly store: GitStore; readonly forge: Forge }[];
  stop(): Promise<void>;
}

/** Starts the requested code hosts on free ports. */
export async function startForges(options: ForgeOptions): Promise<Forges> {
  const all: { readonly store: GitStore; readonly forge: Forge }[] = [];
  let github: GitHubForge | undefined;
  let gitlab: GitLabForge | undefined;
  if (options.github === true) {
    const store = await GitStore.create();
    github = await startGitHub({ store, app: { ...GITHUB_APP, ...appKeys() } });
    all.push({ store, forge: github });
  }
  if (options.gitlab !== undefined && options.gitlab !== false) {
    const store = await GitStore.create();
    const more = options.gitlab === true ? {} : options.gitlab;
    gitlab = await startGitLab({ store, token: GITLAB_TOKEN, ...more });
    all.push({ store, forge: gitlab });
  }
  return {
    github,
    gitlab,
    all,
    async stop() {
      await Promise.all(all.map(({ forge }) => forge.stop()));
      await Promise.all(all.map(({ store }) => store.remove()));
    },
  };
}

export interface WorldOptions extends ForgeOptions {
  readonly argocd?: Partial<ArgoCdOptions>;
}

/** The outside world on loopback: up to two code hosts and an Argo CD that reads their repositories. */
export interface SandboxWorld extends Pick<Forges, "github" | "gitlab"> {
  readonly argocd: ArgoCd;
  /** Token of an account with all permissions. */
  readonly argocdToken: string;
  /** The repository with this address. */
  repository(url: string): StoredRepository | undefined;
  stop(): Promise<void>;
}

/** A repository in the store of its code host. */
export interface StoredRepository {
  readonly store: GitStore;
  readonly name: string;
}

/** Starts the requested servers on free ports. */
export async function startSandbox(options: WorldOptions): Promise<SandboxWorld> {
  const forges = await startForges(options);
  const { github, gitlab } = forges;
  const repository = (url: string) => repositoryAt(url, forges.all);
  const repositories = (url: string) => {
    const found = repository(url);
    return found?.store.objects(found.name);
  };
  const argocd = await startArgoCd({ ...options.argocd, repositories });
  const argocdToken = argocd.addAccount(ARGOCD_ACCOUNT, { permissions: "all" });
  return {
    github,
    gitlab,
    argocd,
    argocdToken,
    repository,
    async stop() {
      await argocd.stop();
      await forges.stop();
    },
  };
}

/** Finds a repository by its HTTP URL, or by an SSH URL with the same path. */
function repositoryAt(url: string, stores: Forges["all"]): StoredRepository | undefined {
  const plain = url
    .trim()
    .toLowerCase()
    .replace(/\/$/, "")
    .replace(/\.git$/, "");
  for (const { store, forge } of stores) {
    const name = store.names().find((one) => {
      const sameHost = plain.startsWith(`${forge.url}/`) || /^(?:ssh:\/\/|[^/]+@)/.test(plain);
      return sameHost && new RegExp(`[/:]${escaped(one.toLowerCase())}$`).test(plain);
    });
    if (name !== undefined) return { store, name };
  }
  return undefined;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
