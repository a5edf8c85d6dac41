import type { OpenRequest } from "../../forge.js";
import { sendMergeRequestHook } from "../hooks/merge-request-body.js";
import { hookTime } from "../hooks/project-body.js";
import type { Instance } from "../model/instance.js";
import { draftTitle, type MergeRequest } from "../model/merge-request.js";
import { projectName, type Project } from "../model/project.js";
import { readHead } from "./heads.js";
import { recordPush } from "./push.js";

/** Creates a project whose default branch is protected, as on GitLab. */
export function newProject(
  instance: Instance,
  path: string,
  options: { readonly defaultBranch?: string; readonly forkOf?: Project } = {},
): Project {
  const defaultBranch = options.defaultBranch ?? "main";
  const project: Project = {
    id: instance.nextProjectId(),
    path,
    description: "",
    createdAt: instance.now(),
    defaultBranch,
    forkOf: options.forkOf,
    members: new Map(),
    visibility: "private",
    membersOnly: false,
    protectedBranches: new Set([defaultBranch]),
    statuses: [],
    environments: [],
    deployments: [],
    pushes: [],
    approvalsRequired: undefined,
    fastForward: false,
    mergeTrain: undefined,
    codeOwners: [],
    mergeRequestCount: 0,
    issueCount: 0,
  };
  instance.projects.set(path, project);
  return project;
}

/** A person pushes a branch, to their fork if requested, and opens a merge request. */
export async function openMergeRequest(
  instance: Instance,
  request: OpenRequest,
  description = "",
): Promise<MergeRequest> {
  const project = instance.project(request.repository);
  const author = instance.people.named(request.by);
  const source = request.fork === true ? await forkOf(instance, project, author.username) : project;
  const iid = (project.mergeRequestCount += 1);
  const branch = request.branch ?? `change-${iid}`;
  const base = request.base ?? project.defaultBranch;
  const title = request.title ?? `Change ${Object.keys(request.changes).join(", ")}`;
  const from = await instance.store.resolve(project.path, `refs/heads/${base}`);
  if (from === undefined) throw new Error(`${project.path} has no branch ${base}`);
  const merge = newMergeRequest(instance, {
    iid,
    project,
    sourceProject: source,
    author,
    sourceBranch: branch,
    targetBranch: base,
    title: request.draft === undefined ? title : draftTitle(title, request.draft),
  });
  merge.description = description;
  const { store } = instance;
  if (source !== project) await store.copyObjects(project.path, source.path, request.at ?? from);
  if (request.at !== undefined) await store.setRef(source.path, `refs/heads/${branch}`, request.at);
  const by = author.username;
  const commit = { from, message: title, author: request.author ?? by };
  const isAt = request.at !== undefined && Object.keys(request.changes).length === 0;
  const head = isAt ? request.at : await store.commit(source.path, branch, request.changes, commit);
  const isPushed = source.pushes.some((push) => push.branch === branch && push.after === head);
  if (!isPushed) await recordPush(instance, source, { by: author, branch, before: undefined, after: head });
  await readHead(instance, merge);
  merge.pipeline = instance.pipelines.findLast(
    (one) => one.project === source && one.ref === branch && one.sha === merge.head,
  );
  instance.mergeRequests.push(merge);
  const updated = { previous: hookTime(merge.createdAt), current: hookTime(merge.updatedAt) };
  await sendMergeRequestHook(instance, merge, {
    by: author,
    action: "open",
    changes: { merge_status: { previous: "preparing", current: "unchecked" }, updated_at: updated },
    status: { merge_status: "checking", detailed_merge_status: "preparing" },
  });
  return merge;
}

async function forkOf(instance: Instance, project: Project, owner: string): Promise<Project> {
  const path = `${owner}/${projectName(project)}`;
  const known = instance.projects.get(path);
  if (known?.forkOf === project) return known;
  if (known !== undefined) throw new Error(`${path} exists already and is no fork of ${project.path}`);
  await instance.store.fork(project.path, path);
  return newProject(instance, path, { defaultBranch: project.defaultBranch, forkOf: project });
}

function newMergeRequest(
  instance: Instance,
  facts: Pick<MergeRequest, "iid" | "project" | "sourceProject" | "author" | "sourceBranch" | "targetBranch" | "title">,
): MergeRequest {
  const createdAt = instance.now();
  return {
    ...facts,
    id: instance.nextId(),
    createdAt,
    updatedAt: createdAt,
    notes: [],
    versions: [],
    labels: [],
    reviewers: new Map(),
    approvals: new Map(),
    description: "",
    head: "",
    state: "opened",
    updatedBy: undefined,
    mergedBy: undefined,
    mergedAt: undefined,
    closedBy: undefined,
    closedAt: undefined,
    mergeCommit: undefined,
    squash: false,
    squashCommit: undefined,
    conflicts: undefined,
    pipeline: undefined,
    joinsTrain: false,
    pendingReads: 0,
    syncingReads: 0,
    rebasing: undefined,
    mergeError: null,
  };
}
