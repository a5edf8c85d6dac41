import type { BranchSchema, CommitSchema, ProjectSchema, SimpleProjectSchema } from "@gitbeaker/rest";
import { projectAddresses } from "../hooks/project-body.js";
import type { CommitFacts } from "../model/commit-reader.js";
import type { Instance } from "../model/instance.js";
import { namespacePath, projectName, type Project } from "../model/project.js";
import type { Members } from "./members.js";

type ShownReference = Members<SimpleProjectSchema>;

type ShownProject = ShownReference &
  Pick<
    Members<ProjectSchema>,
    | "visibility"
    | "archived"
    | "empty_repo"
    | "merge_requests_enabled"
    | "merge_method"
    | "squash_option"
    | "remove_source_branch_after_merge"
    | "only_allow_merge_if_pipeline_succeeds"
  > & {
    /** Premium alone has it. */
    readonly merge_trains_enabled?: boolean;
    readonly forked_from_project?: ShownReference;
    readonly repository_access_level: string;
    readonly merge_requests_access_level: string;
    readonly permissions: {
      readonly project_access: { readonly access_level: number; readonly notification_level: number } | null;
      readonly group_access: null;
    };
  };

export function showProject(instance: Instance, project: Project): ShownProject {
  const access_level = project.members.get(instance.bot.id);
  return {
    ...showReference(instance, project),
    ...(project.forkOf === undefined ? {} : { forked_from_project: showReference(instance, project.forkOf) }),
    visibility: project.visibility,
    repository_access_level: project.membersOnly ? "private" : "enabled",
    merge_requests_access_level: "enabled",
    archived: false,
    empty_repo: false,
    merge_requests_enabled: true,
    merge_method: "merge",
    squash_option: "default_off",
    remove_source_branch_after_merge: false,
    only_allow_merge_if_pipeline_succeeds: false,
    ...(project.mergeTrain === undefined ? {} : { merge_trains_enabled: true }),
    permissions: {
      project_access: access_level === undefined ? null : { access_level, notification_level: 3 },
      group_access: null,
    },
  };
}

function showReference(instance: Instance, project: Project): ShownReference {
  const { web, ssh, http } = projectAddresses(instance, project);
  const group = namespacePath(project);
  const name = projectName(project);
  const forks = [...instance.projects.values()].filter(({ forkOf }) => forkOf === project);
  return {
    id: project.id,
    description: project.description,
    name,
    name_with_namespace: [...group.split("/"), name].join(" / "),
    path: name,
    path_with_namespace: project.path,
    created_at: project.createdAt.toISOString(),
    default_branch: project.defaultBranch,
    topics: [],
    ssh_url_to_repo: ssh,
    http_url_to_repo: http,
    web_url: web,
    readme_url: null,
    forks_count: forks.length,
    avatar_url: null,
    star_count: 0,
    last_activity_at: project.createdAt.toISOString(),
    namespace: {
      id: project.id + 100_000,
      name: group.slice(group.lastIndexOf("/") + 1),
      path: group.slice(group.lastIndexOf("/") + 1),
      kind: project.forkOf === undefined ? "group" : "user",
      full_path: group,
      parent_id: null,
      avatar_url: null,
      web_url: `${instance.url}/${group}`,
    },
  };
}

export type ShownCommit = Members<CommitSchema> & {
  readonly trailers: Readonly<Record<string, never>>;
  readonly extended_trailers: Readonly<Record<string, never>>;
};

export function showCommit(instance: Instance, project: Project, commit: CommitFacts): ShownCommit {
  const at = commit.at.toISOString();
  return {
    id: commit.id,
    short_id: commit.id.slice(0, 8),
    created_at: at,
    parent_ids: [...commit.parents],
    title: commit.title,
    message: commit.message,
    author_name: commit.authorName,
    author_email: commit.authorEmail,
    authored_date: at,
    committer_name: commit.committerName,
    committer_email: commit.committerEmail,
    committed_date: at,
    trailers: {},
    extended_trailers: {},
    web_url: `${projectAddresses(instance, project).web}/-/commit/${commit.id}`,
  };
}

/** `commit` is the branch's tip. */
export async function showBranch(
  instance: Instance,
  project: Project,
  name: string,
  tip: string,
): Promise<Members<BranchSchema>> {
  const { store } = instance;
  const isDefault = name === project.defaultBranch;
  const isProtected = project.protectedBranches.has(name);
  const main = await store.resolve(project.path, `refs/heads/${project.defaultBranch}`);
  const level = project.members.get(instance.bot.id) ?? 0;
  return {
    name,
    commit: showCommit(instance, project, await instance.commits.read(project.path, tip)),
    merged: !isDefault && main !== undefined && (await store.isAncestor(project.path, tip, main)),
    protected: isProtected,
    developers_can_push: false,
    developers_can_merge: false,
    can_push: level >= (isProtected ? 40 : 30),
    default: isDefault,
    web_url: `${projectAddresses(instance, project).web}/-/tree/${name}`,
  };
}
