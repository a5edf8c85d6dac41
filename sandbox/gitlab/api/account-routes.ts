import type { Router } from "express";
import type { Instance } from "../model/instance.js";
import { accessLevels, type Project } from "../model/project.js";
import { ApiFailure, serve } from "./call.js";
import * as endpoints from "./endpoints.js";
import { page } from "./paging.js";
import { showProject } from "./present-project.js";
import { showCurrentUser, showMember, showProfile } from "./present-user.js";

/** The token's account, projects and their members. */
export function accountRoutes(router: Router, instance: Instance): void {
  router.get(
    endpoints.showCurrentUser.path,
    serve(instance, endpoints.showCurrentUser, ({ holder }) => ({ body: showCurrentUser(instance, holder) })),
  );
  router.get(
    endpoints.showMetadata.path,
    serve(instance, endpoints.showMetadata, () => ({ body: { version: instance.version, revision: "f6a3c1e2" } })),
  );
  router.get(
    endpoints.showUser.path,
    serve(instance, endpoints.showUser, (call) => {
      const person = instance.people.withId(Number(call.param("user")));
      if (person === undefined) throw new ApiFailure(404, "404 User Not Found");
      return { body: showProfile(instance, person) };
    }),
  );
  router.get(
    endpoints.listProjects.path,
    serve(instance, endpoints.listProjects, (call) => {
      const { min_access_level = "5" } = call.query;
      const levelIn = ({ members }: Project): number => members.get(call.holder.person.id) ?? 0;
      const own = [...instance.projects.values()].filter((one) => levelIn(one) >= Number(min_access_level));
      return page(
        call.url,
        own.map((one) => showProject(instance, one)),
        call.query,
      );
    }),
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
      const group = call.param("id").toLowerCase();
      const user = instance.people.withId(Number(call.param("user")));
      const level = user === undefined ? undefined : instance.groupLevels.get(group)?.get(user.id);
      if (user !== undefined && level !== undefined) return { body: showMember(instance, user, level) };
      const members = instance.groups.get(group);
      if (members === undefined) throw new ApiFailure(404, "404 Group Not Found");
      const person = [...members].find(({ id }) => String(id) === call.param("user"));
      if (person === undefined) throw new ApiFailure(404, "404 Not found");
      return { body: showMember(instance, person, accessLevels.write) };
    }),
  );
}
