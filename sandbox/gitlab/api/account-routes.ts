import type { Router } from "express";
import type { Instance } from "../model/instance.js";
import { accessLevels } from "../model/project.js";
import { ApiFailure, serve, type Answer } from "./call.js";
import * as endpoints from "./endpoints.js";
import { showProject } from "./present-project.js";
import { showCurrentUser, showMember } from "./present-user.js";

const yearMs = 365 * 24 * 3600 * 1000;

/** The token and its account, the version, projects and their members. */
export function accountRoutes(router: Router, instance: Instance): void {
  const version = (): Answer => ({
    body: {
      version: "19.5.0",
      revision: "4c6d5e7f8a9",
      kas: { enabled: false, externalUrl: null, externalK8sProxyUrl: null, version: null },
      enterprise: instance.edition !== "ce",
    },
  });
  router.get(endpoints.showVersion.path, serve(instance, endpoints.showVersion, version));
  router.get(endpoints.showMetadata.path, serve(instance, endpoints.showMetadata, version));
  router.get(
    endpoints.showUser.path,
    serve(instance, endpoints.showUser, () => ({ body: showCurrentUser(instance) })),
  );
  router.get(
    endpoints.showToken.path,
    serve(instance, endpoints.showToken, () => ({
      body: {
        id: 1,
        name: "svc",
        revoked: false,
        created_at: instance.startedAt.toISOString(),
        description: null,
        scopes: ["api"],
        user_id: instance.bot.id,
        last_used_at: null,
        active: true,
        expires_at: new Date(instance.startedAt.getTime() + yearMs).toISOString().slice(0, 10),
      },
    })),
  );
  router.get(
    endpoints.showProject.path,
    serve(instance, endpoints.showProject, (call) => ({ body: showProject(instance, call.project()) })),
  );
  router.get(
    endpoints.showMember.path,
    serve(instance, endpoints.showMember, (call) => {
      const id = call.param("user");
      if (!/^\d+$/.test(id)) throw new ApiFailure(400, "user_id is invalid", "error");
      const level = call.project().members.get(Number(id));
      const person = instance.people.withId(Number(id));
      if (level === undefined || person === undefined) throw new ApiFailure(404, "404 Not found");
      return { body: showMember(instance, person, level) };
    }),
  );
  router.get(
    endpoints.showGroupMember.path,
    serve(instance, endpoints.showGroupMember, (call) => {
      const members = instance.groups.get(call.param("id").toLowerCase());
      if (members === undefined) throw new ApiFailure(404, "404 Group Not Found");
      const person = [...members].find(({ id }) => String(id) === call.param("user"));
      if (person === undefined) throw new ApiFailure(404, "404 Not found");
      return { body: showMember(instance, person, accessLevels.write) };
    }),
  );
}
