import type { Router } from "express";
import type { z } from "zod";
import { CannotRevert } from "../../git/git-store.js";
import { branchMoved } from "../acts/heads.js";
import { recordPush } from "../acts/push.js";
import { stopEnvironmentsOf } from "../model/environment.js";
import type { Instance } from "../model/instance.js";
import type { Project } from "../model/project.js";
import { ApiFailure, serve } from "./call.js";
import * as endpoints from "./endpoints.js";
import { page } from "./paging.js";
import { showPush, type ShownEvent } from "./present-event.js";
import { showBranch, showCommit } from "./present-project.js";

/** Branches and merge bases, read from git, and who pushed. */
export function repositoryRoutes(router: Router, instance: Instance): void {
  const { store } = instance;
  const tipOf = async (project: Project, branch: string): Promise<string> => {
    const tip = await store.resolve(project.path, `refs/heads/${branch}`);
    if (tip === undefined) throw new ApiFailure(404, "404 Branch Not Found");
    return tip;
  };
  router.get(
    endpoints.showBranch.path,
    serve(instance, endpoints.showBranch, async (call) => {
      const project = call.project();
      const name = call.param("branch");
      return { body: await showBranch(instance, project, name, await tipOf(project, name)) };
    }),
  );
  router.post(
    endpoints.createBranch.path,
    serve(instance, endpoints.createBranch, async (call) => {
      const project = call.project();
      const { branch, ref } = call.body;
      requirePush(instance, project, branch);
      if ((await store.resolve(project.path, `refs/heads/${branch}`)) !== undefined) {
        throw new ApiFailure(400, "Branch already exists");
      }
      const tip = await store.resolve(project.path, ref);
      if (tip === undefined) throw new ApiFailure(400, `Invalid reference name: ${ref}`);
      await store.setRef(project.path, `refs/heads/${branch}`, tip);
      await recordPush(instance, project, { by: instance.bot, branch, before: undefined, after: tip });
      return { status: 201, body: await showBranch(instance, project, branch, tip) };
    }),
  );
  router.post(
    endpoints.revertCommit.path,
    serve(instance, endpoints.revertCommit, async (call) => {
      const project = call.project();
      const { branch, dry_run: dryRun = false } = call.body;
      requirePush(instance, project, branch);
      const sha = await store.resolve(project.path, call.param("sha"));
      if (sha === undefined) throw new ApiFailure(404, "404 Commit Not Found");
      const before = await tipOf(project, branch);
      const { title, parents } = await instance.commits.read(project.path, sha);
      const [from = sha] = parents;
      const commit = { message: `Revert "${title}"\n\nThis reverts commit ${sha}`, author: instance.bot.name };
      const after = await store
        .revert(project.path, branch, { from, to: sha }, commit, dryRun)
        .catch((error: unknown) => {
          if (!(error instanceof CannotRevert)) throw error;
          const sorry = "Sorry, we cannot revert this commit automatically. This commit may already have been reverted";
          throw new ApiFailure(400, `${sorry}, or a more recent commit may have updated some of its content.`);
        });
      if (after === undefined) return { body: { dry_run: "success" } };
      await recordPush(instance, project, { by: instance.bot, branch, before, after });
      await branchMoved(instance, project, branch, { by: instance.bot });
      return { status: 201, body: showCommit(instance, project, await instance.commits.read(project.path, after)) };
    }),
  );
  router.get(
    endpoints.listEvents.path,
    serve(instance, endpoints.listEvents, (call) =>
      page(call.url, listEvents(instance, call.project(), call.query), call.query),
    ),
  );
  router.delete(
    endpoints.removeBranch.path,
    serve(instance, endpoints.removeBranch, async (call) => {
      const project = call.project();
      const name = call.param("branch");
      await tipOf(project, name);
      if ((project.members.get(instance.bot.id) ?? 0) < 30) throw new ApiFailure(403, "403 Forbidden");
      if (name === project.defaultBranch) throw new ApiFailure(400, "Cannot remove HEAD branch");
      if (project.protectedBranches.has(name)) {
        throw new ApiFailure(400, "You can only delete protected branches using the web interface.");
      }
      await store.setRef(project.path, `refs/heads/${name}`, undefined);
      stopEnvironmentsOf(project, name);
      return { status: 204 };
    }),
  );
  router.get(
    endpoints.showMergeBase.path,
    serve(instance, endpoints.showMergeBase, async (call) => {
      const project = call.project();
      const { refs } = call.query;
      if (refs.length < 2) throw new ApiFailure(400, "Provide at least 2 refs");
      const [first = "", ...others] = await resolveAll(instance, project, refs);
      let base: string | undefined = first;
      for (const other of others) {
        if (base !== undefined) base = await store.mergeBase(project.path, base, other);
      }
      if (base === undefined) throw new ApiFailure(404, "404 Merge Base Not Found");
      return { body: showCommit(instance, project, await instance.commits.read(project.path, base)) };
    }),
  );
}

/** Developers may push to branches that are not protected, Maintainers to all. */
function requirePush({ bot }: Instance, { members, protectedBranches }: Project, branch: string): void {
  const needed = protectedBranches.has(branch) ? 40 : 30;
  if ((members.get(bot.id) ?? 0) < needed) {
    throw new ApiFailure(403, "You are not allowed to push into this branch");
  }
}

type EventQuery = z.output<z.ZodObject<(typeof endpoints.listEvents)["query"]>>;

/** Newest first unless asked otherwise. The sandbox keeps push events alone, so it answers only who asks for these. */
function listEvents(instance: Instance, project: Project, query: EventQuery): readonly ShownEvent[] {
  const { action, before, after, sort } = query;
  if (action !== "pushed") throw new ApiFailure(400, "the sandbox keeps push events only", "error");
  const events = project.pushes
    .map((push) => showPush(instance, project, push))
    .filter(({ created_at: at }) => before === undefined || at.slice(0, 10) < before)
    .filter(({ created_at: at }) => after === undefined || at.slice(0, 10) > after);
  return sort === "asc" ? events : events.reverse();
}

async function resolveAll(instance: Instance, project: Project, refs: readonly string[]): Promise<string[]> {
  const found = await Promise.all(refs.map((ref) => instance.store.resolve(project.path, ref)));
  const unknown = refs.filter((_, at) => found[at] === undefined);
  if (unknown.length > 0) throw new ApiFailure(404, `Could not find ref: ${unknown.join(", ")}`);
  return found.filter((id) => id !== undefined);
}
