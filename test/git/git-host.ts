import express from "express";
import type { FileChanges } from "../../sandbox/forge.js";
import { GitStore } from "../../sandbox/git/git-store.js";
import { smartHttp } from "../../sandbox/git/smart-http.js";
import { listenOnLoopback } from "../../sandbox/loopback.js";
import { repositoryName, revision } from "../../src/core/model/brand.js";
import type { ChangeRequest } from "../../src/core/model/change-request.js";
import type { CloneSource } from "../../src/core/ports/code-host.js";

export const TOKEN = "Basic c2VjcmV0LXRva2VuOng=";
const NAME = "acme/deploy";

/** What the server does instead of answering; `pass` answers. */
export type Behaviour = "pass" | "hang" | { readonly status: number } | { readonly redirect: string };

/** A git server on loopback with one repository, whose requests are counted. */
export class GitHost {
  readonly requests: { readonly path: string; readonly authorization: string | undefined }[] = [];
  behaviour: Behaviour = "pass";

  private constructor(
    readonly store: GitStore,
    readonly url: string,
    readonly stop: () => Promise<void>,
  ) {}

  static async start(files: FileChanges): Promise<GitHost> {
    const store = await GitStore.create();
    await store.createRepository(NAME, files);
    const app = express();
    const started: GitHost[] = [];
    app.use((request, response, next) => {
      const [host] = started;
      host?.requests.push({ path: request.path, authorization: request.headers.authorization });
      const behaviour = host?.behaviour ?? "pass";
      if (behaviour === "pass") next();
      else if (behaviour !== "hang") {
        if ("redirect" in behaviour) response.redirect(behaviour.redirect + request.originalUrl);
        else response.status(behaviour.status).set("WWW-Authenticate", 'Basic realm="git"').send("no");
      }
    });
    app.use(
      smartHttp(
        store,
        (_name, header) => header === TOKEN,
        (path) => path.slice(1).replace(/\.git$/, ""),
      ),
    );
    const server = await listenOnLoopback(app);
    const host = new GitHost(store, server.url, async () => {
      await server.stop();
      await store.remove();
    });
    started.push(host);
    return host;
  }

  /** Opens a change request: a commit on a branch of its own, offered under `refs/pull/<n>/head` only for forks. */
  async change(number: number, changes: FileChanges): Promise<ChangeRequest> {
    const base = await this.tip("main");
    const head = await this.store.commit(NAME, `change-${number}`, changes, { from: base });
    await this.store.setRef(NAME, `refs/pull/${number}/head`, head);
    return this.facts(number, head, base, base);
  }

  /** A change request whose commits are in another repository; the target only has the host's ref. */
  async changeFromFork(number: number, changes: FileChanges): Promise<ChangeRequest> {
    const base = await this.tip("main");
    const fork = `bo/deploy-${number}`;
    await this.store.fork(NAME, fork);
    const head = await this.store.commit(fork, "main", changes);
    await this.store.copyObjects(fork, NAME, head);
    await this.store.setRef(NAME, `refs/pull/${number}/head`, head);
    return { ...this.facts(number, head, base, base), fork: true };
  }

  commit(branch: string, changes: FileChanges): Promise<string> {
    return this.store.commit(NAME, branch, changes);
  }

  setRef(ref: string, revision: string | undefined): Promise<void> {
    return this.store.setRef(NAME, ref, revision);
  }

  get directory(): string {
    return this.store.directory(NAME);
  }

  async tip(branch: string): Promise<string> {
    return (await this.store.resolve(NAME, branch)) ?? "";
  }

  source(number: number, changes: Partial<CloneSource> = {}): CloneSource {
    const url = `${this.url}/${NAME}.git`;
    return { url, authorization: TOKEN, headRef: `refs/pull/${number}/head`, ...changes };
  }

  facts(number: number, head: string, base: string, mergeBase: string): ChangeRequest {
    return {
      host: "hosta",
      repository: repositoryName(NAME),
      number,
      title: "a change",
      webUrl: `${this.url}/${NAME}/pull/${number}`,
      author: undefined,
      state: "open",
      draft: false,
      fork: false,
      headBranch: `change-${number}`,
      baseBranch: "main",
      defaultBranch: "main",
      headRevision: revision(head),
      baseRevision: revision(base),
      mergeBase: revision(mergeBase),
      mergeability: "mergeable",
      repositoryUrls: [],
    };
  }
}
