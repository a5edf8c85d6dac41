import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Request, RequestHandler, Response } from "express";
import type { GitStore } from "./git-store.js";
import { runGit, streamGit } from "./run-git.js";

/**
 * Express middleware for reads over git's smart protocol (gitprotocol-http(5)), backed by `git upload-pack`. Passes on
 * requests that are not git's.
 * `repositoryOf` gets the decoded path before `/info/refs` or `/git-upload-pack`, for instance `/acme/deploy.git`.
 */
export function smartHttp(
  store: GitStore,
  authorize: (repository: string, authorizationHeader: string | undefined) => boolean,
  repositoryOf: (path: string) => string | undefined,
): RequestHandler {
  return (request, response, next) => {
    const [, path, call] = /^(.+)\/(info\/refs|git-upload-pack|git-receive-pack)$/.exec(request.path) ?? [];
    if (path === undefined || call === undefined) {
      next();
      return;
    }
    const name = repositoryOf(decodeURIComponent(path));
    if (name === undefined || !store.names().includes(name)) {
      response.status(404).type("text/plain").send("Repository not found.\n");
      return;
    }
    if (!authorize(name, request.headers.authorization)) {
      response.status(401).set("WWW-Authenticate", 'Basic realm="git"').type("text/plain").send("Access denied\n");
      return;
    }
    if (call === "git-receive-pack" || request.query.service === "git-receive-pack") {
      response.status(403).type("text/plain").send("This repository is read-only over HTTP\n");
      return;
    }
    const directory = store.directory(name);
    const protocol = request.headers["git-protocol"];
    const environment = typeof protocol === "string" ? { GIT_PROTOCOL: protocol } : {};
    if (call === "git-upload-pack") {
      uploadPack(directory, environment, request, response).catch(next);
      return;
    }
    advertise(directory, environment).then((body) => {
      response.set({ ...UNCACHED, "Content-Type": "application/x-git-upload-pack-advertisement" }).send(body);
    }, next);
  };
}

/** Headers of `git http-backend`. */
const UNCACHED = {
  Expires: "Fri, 01 Jan 1980 00:00:00 GMT",
  Pragma: "no-cache",
  "Cache-Control": "no-cache, max-age=0, must-revalidate",
};

let capabilities: Promise<string> | undefined;

/** Protocol version 2 advertises only capabilities, the same for every repository here; older versions list refs. */
async function advertise(directory: string, environment: NodeJS.ProcessEnv): Promise<string> {
  const args = ["upload-pack", "--stateless-rpc", "--http-backend-info-refs", directory];
  const run = async (): Promise<string> => (await runGit(directory, args, { environment })).stdout;
  if (environment.GIT_PROTOCOL !== "version=2") return `001e# service=git-upload-pack\n0000${await run()}`;
  capabilities ??= run();
  capabilities.catch(() => (capabilities = undefined));
  return capabilities;
}

async function uploadPack(
  directory: string,
  environment: NodeJS.ProcessEnv,
  request: Request,
  response: Response,
): Promise<void> {
  const git = await streamGit(directory, ["upload-pack", "--stateless-rpc", directory], environment);
  // Half-open it would stay for as long as this process lives. The client may have gone before git was there.
  response.once("close", () => git.destroy());
  if (response.closed) git.destroy();
  const body = request.headers["content-encoding"] === "gzip" ? request.pipe(createGunzip()) : request;
  // git may answer before it has read all its input.
  body.on("error", () => git.end()).pipe(git);
  response.set({ ...UNCACHED, "Content-Type": "application/x-git-upload-pack-result" });
  pipeline(git, response, () => undefined);
}
