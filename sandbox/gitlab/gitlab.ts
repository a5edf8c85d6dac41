import express from "express";
import { FaultSwitch } from "../faults.js";
import { smartHttp } from "../git/smart-http.js";
import { listenOnLoopback } from "../loopback.js";
import { RequestLog } from "../request-log.js";
import { apiRouter, mayFetch } from "./api/api.js";
import { GitLabForge } from "./gitlab-forge.js";
import { Instance, type InstanceOptions } from "./model/instance.js";
import { oauthPages } from "./oauth/oauth-pages.js";
import { userApi } from "./oauth/user-api.js";

/**
 * Starts a miniature GitLab on a free loopback port: the REST API under `/api/v4`, git over HTTP and webhooks.
 * The caller keeps owning the store.
 */
export async function startGitLab(options: InstanceOptions): Promise<GitLabForge> {
  const instance = new Instance(options);
  const faults = new FaultSwitch();
  const requests = new RequestLog();
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("query parser", "extended");
  app.use(requests.middleware((request) => request.get("authorization") ?? request.get("private-token")));
  app.use(faults.middleware());
  app.use(instance.clock.dates());
  app.use(oauthPages(instance), userApi(instance));
  app.use(apiRouter(instance));
  app.use(
    smartHttp(
      instance.store,
      (repository, authorization) => {
        const isMember = instance.projects.get(repository)?.members.has(instance.bot.id) === true;
        return isMember && mayFetch(instance, authorization);
      },
      (path) => instance.projects.get(path.replace(/^\//, "").replace(/\.git$/, ""))?.path,
    ),
  );
  const server = await listenOnLoopback(app);
  instance.url = server.url;
  return new GitLabForge(instance, { faults, requests, stop: () => server.stop() });
}
