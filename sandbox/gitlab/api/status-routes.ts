import type { CommitStatusSchema } from "@gitbeaker/rest";
import type { Router } from "express";
import type { Instance } from "../model/instance.js";
import type { CommitStatus, Pipeline } from "../model/pipeline.js";
import type { Project } from "../model/project.js";
import { ApiFailure, serve } from "./call.js";
import * as endpoints from "./endpoints.js";
import type { Members } from "./members.js";
import { page } from "./paging.js";
import { showUser, type ShownUser } from "./present-user.js";

const longestDescription = 255;
const longestLink = 255;

/** Commit statuses of external programs. Setting one without a pipeline is a violation. */
export function statusRoutes(router: Router, instance: Instance): void {
  router.get(
    endpoints.listStatuses.path,
    serve(instance, endpoints.listStatuses, (call) => {
      const { ref, name, pipeline_id, all } = call.query;
      const fitting = call
        .project()
        .statuses.filter(
          (status) =>
            status.pipeline.sha === call.param("sha") &&
            (ref === undefined || status.pipeline.ref === ref) &&
            (name === undefined || status.name === name) &&
            (pipeline_id === undefined || status.pipeline.id === pipeline_id),
        );
      const newest = fitting.filter(
        (one, at) => !fitting.slice(at + 1).some((later) => later.name === one.name && later.pipeline === one.pipeline),
      );
      const shown = (all === true ? fitting : newest).map((status) => showStatus(instance, status));
      return page(call.url, shown, call.query);
    }),
  );
  router.post(
    endpoints.createStatus.path,
    serve(instance, endpoints.createStatus, (call) => {
      const project = call.project();
      const { state, ref, pipeline_id, name, context, description, target_url } = call.body;
      const pipeline = pipelineFor(instance, project, call.param("sha"), ref, pipeline_id);
      const title = name ?? context ?? "default";
      const before = project.statuses.findLast((one) => one.name === title && one.pipeline === pipeline);
      if (before?.state === state && (state === "pending" || state === "running")) {
        const event = state === "pending" ? "enqueue" : "run";
        throw new ApiFailure(
          400,
          `Cannot transition status via :${event} from :${state} (Reason(s): Status cannot transition via "${event}")`,
        );
      }
      if ((description?.length ?? 0) > longestDescription) {
        throw new ApiFailure(
          400,
          `400 Bad request - Description is too long (maximum is ${longestDescription} characters)`,
        );
      }
      if ((target_url?.length ?? 0) > longestLink) {
        throw new ApiFailure(400, `400 Bad request - Target url is too long (maximum is ${longestLink} characters)`);
      }
      const status: CommitStatus = {
        id: instance.nextId(),
        pipeline,
        name: title,
        state,
        description: description ?? null,
        targetUrl: target_url ?? null,
        createdAt: instance.now(),
      };
      project.statuses.push(status);
      return { status: 201, body: showStatus(instance, status) };
    }),
  );
}

/** The pipeline of a status. GitLab would create one if none fits and no id is given, which clients must avoid. */
function pipelineFor(
  instance: Instance,
  project: Project,
  sha: string,
  ref: string | undefined,
  id: number | undefined,
): Pipeline {
  if (id === undefined) {
    instance.violations.push(`POST statuses/${sha}: without pipeline_id GitLab may make a pipeline`);
  }
  const pipeline = instance.pipelines.find(
    (one) =>
      one.project === project &&
      one.sha === sha &&
      (ref === undefined || one.ref === ref) &&
      (id === undefined || one.id === id),
  );
  if (pipeline === undefined) throw new ApiFailure(404, "404 Pipeline Not Found");
  return pipeline;
}

type ShownStatus = Members<
  CommitStatusSchema,
  "status" | "author" | "description" | "target_url" | "started_at" | "finished_at"
> & {
  readonly status: CommitStatus["state"];
  readonly author: ShownUser;
  readonly description: string | null;
  readonly target_url: string | null;
  readonly started_at: null;
  readonly finished_at: string | null;
  readonly coverage: null;
  readonly pipeline_id: number;
};

function showStatus(instance: Instance, status: CommitStatus): ShownStatus {
  const at = status.createdAt.toISOString();
  return {
    id: status.id,
    sha: status.pipeline.sha,
    ref: status.pipeline.ref,
    status: status.state,
    name: status.name,
    target_url: status.targetUrl,
    description: status.description,
    created_at: at,
    started_at: null,
    finished_at: status.state === "pending" || status.state === "running" ? null : at,
    allow_failure: false,
    coverage: null,
    pipeline_id: status.pipeline.id,
    author: showUser(instance, instance.bot),
  };
}
