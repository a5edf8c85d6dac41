import type { ExpandedPipelineSchema } from "@gitbeaker/rest";
import { projectAddresses } from "../hooks/project-body.js";
import type { Instance } from "../model/instance.js";
import type { MergeRequest } from "../model/merge-request.js";
import type { Pipeline } from "../model/pipeline.js";
import type { Members } from "./members.js";
import { showUser } from "./present-user.js";

type ShownPipeline = Members<ExpandedPipelineSchema, "finished_at" | "duration" | "committed_at"> & {
  readonly finished_at: null;
  readonly duration: null;
  readonly committed_at: null;
  readonly archived: boolean;
};

/** A pipeline inside a merge request. In the sandbox, pipelines never finish. */
export function showPipeline(instance: Instance, merge: MergeRequest, pipeline: Pipeline): ShownPipeline {
  const at = pipeline.createdAt.toISOString();
  const path = `/${pipeline.project.path}/-/pipelines/${pipeline.id}`;
  return {
    id: pipeline.id,
    iid: pipeline.iid,
    project_id: pipeline.project.id,
    sha: pipeline.sha,
    ref: pipeline.ref,
    status: "running",
    source: "push",
    created_at: at,
    updated_at: at,
    web_url: `${projectAddresses(instance, pipeline.project).web}/-/pipelines/${pipeline.id}`,
    before_sha: "0".repeat(40),
    tag: false,
    yaml_errors: null,
    user: showUser(instance, merge.author),
    started_at: at,
    finished_at: null,
    committed_at: null,
    duration: null,
    queued_duration: 1,
    coverage: null,
    detailed_status: {
      icon: "status_running",
      text: "Running",
      label: "running",
      group: "running",
      tooltip: "running",
      has_details: true,
      details_path: path,
      illustration: null,
      favicon: "/assets/ci_favicons/favicon_status_running.png",
    },
    archived: false,
  };
}
