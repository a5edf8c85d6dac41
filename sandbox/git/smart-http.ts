import { spawn } from "node:child_process";
import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { Request, RequestHandler, Response } from "express";
import type { GitStore } from "./git-store.js";
import { gitEnvironment, runGit } from "./run-git.js";

/**
 * git's own server for reading (`git http-backend`, git-http-backend(1)) as Express middleware. Requests that are not
 * git's go on to the next handler.
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
    if (call === "info/refs" && request.headers["git-protocol"] === "version=2") {
      advertise(directory).then((body) => {
        response.set({ ...UNCACHED, "Content-Type": "application/x-git-upload-pack-advertisement" }).send(body);
      }, next);
      return;
    }
    serve(directory, `/${call}`, request, response);
  };
}

/** As `git http-backend` sends them. */
const UNCACHED = {
  Expires: "Fri, 01 Jan 1980 00:00:00 GMT",
  Pragma: "no-cache",
  "Cache-Control": "no-cache, max-age=0, must-revalidate",
};

let advertisement: Promise<string> | undefined;

/** In version 2 of the protocol it names only what the server can do, the same for all repositories of the sandbox. */
function advertise(directory: string): Promise<string> {
  const args = ["upload-pack", "--stateless-rpc", "--http-backend-info-refs", directory];
  advertisement ??= runGit(directory, args, { environment: { GIT_PROTOCOL: "version=2" } }).then(
    ({ stdout }) => stdout,
  );
  advertisement.catch(() => (advertisement = undefined));
  return advertisement;
}

function serve(directory: string, pathInfo: string, request: Request, response: Response): void {
  const child = spawn("git", ["http-backend"], {
    env: gitEnvironment({
      GIT_PROJECT_ROOT: directory,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: pathInfo,
      REQUEST_METHOD: request.method,
      QUERY_STRING: request.originalUrl.split("?")[1] ?? "",
      REMOTE_ADDR: "127.0.0.1",
      ...fromHeaders(request.headers),
    }),
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.once("error", () => response.destroy());
  child.stdin.on("error", () => undefined); // git may answer before it has read everything
  response.once("close", () => {
    if (!response.writableFinished) child.kill();
  });
  request.pipe(child.stdin);
  relay(child.stdout, response);
}

/** http-backend unpacks gzip bodies by itself and reads chunked ones to their end. */
function fromHeaders(headers: IncomingHttpHeaders): NodeJS.ProcessEnv {
  const protocol = headers["git-protocol"];
  return {
    CONTENT_TYPE: headers["content-type"] ?? "",
    ...(headers["content-length"] === undefined ? {} : { CONTENT_LENGTH: headers["content-length"] }),
    ...(headers["content-encoding"] === undefined ? {} : { HTTP_CONTENT_ENCODING: headers["content-encoding"] }),
    ...(typeof protocol === "string" ? { GIT_PROTOCOL: protocol } : {}),
  };
}

/** A CGI answer: header lines, an empty line, the body; `Status:` carries the code when it is not 200. */
function relay(output: Readable, response: Response): void {
  let head = Buffer.alloc(0);
  let inBody = false;
  output.on("data", (chunk: Buffer) => {
    if (!inBody) {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      inBody = true;
      setHead(head.subarray(0, end).toString(), response);
      chunk = head.subarray(end + 4);
    }
    if (!response.write(chunk)) {
      output.pause();
      response.once("drain", () => output.resume());
    }
  });
  output.once("end", () => {
    if (inBody) response.end();
    else response.destroy();
  });
}

function setHead(head: string, response: Response): void {
  for (const line of head.split("\r\n")) {
    const [, name = "", value = ""] = /^([^:]+):\s*(.*)$/.exec(line) ?? [];
    if (name.toLowerCase() === "status") response.status(Number(value.slice(0, 3)));
    else if (name !== "") response.setHeader(name, value);
  }
}
