import type { Instance } from "../model/instance.js";
import type { Label } from "../model/merge-request.js";
import type { Person } from "../model/people.js";
import { namespacePath, projectName, type Project } from "../model/project.js";

/** The time format of webhooks. The API uses ISO 8601. */
export function hookTime(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export function userBody(person: Person): object {
  const { id, name, username } = person;
  return { id, name, username, avatar_url: null, email: "[REDACTED]" };
}

/** URLs of a project, in webhooks and in the API. */
export function projectAddresses(instance: Instance, project: Project): { web: string; ssh: string; http: string } {
  const web = `${instance.url}/${project.path}`;
  return { web, http: `${web}.git`, ssh: `git@${new URL(instance.url).hostname}:${project.path}.git` };
}

export function projectBody(instance: Instance, project: Project): object {
  const { web, ssh, http } = projectAddresses(instance, project);
  const namespace = namespacePath(project);
  return {
    id: project.id,
    name: projectName(project),
    description: project.description,
    web_url: web,
    avatar_url: null,
    git_ssh_url: ssh,
    git_http_url: http,
    namespace: namespace.slice(namespace.lastIndexOf("/") + 1),
    visibility_level: 0,
    path_with_namespace: project.path,
    default_branch: project.defaultBranch,
    ci_config_path: null,
    homepage: web,
    url: ssh,
    ssh_url: ssh,
    http_url: http,
  };
}

export function repositoryBody(instance: Instance, project: Project): object {
  const { web, ssh } = projectAddresses(instance, project);
  return { name: projectName(project), url: ssh, description: project.description, homepage: web };
}

export function labelBody(project: Project, label: Label): object {
  return {
    id: label.id,
    title: label.title,
    color: "#336699",
    project_id: project.id,
    created_at: hookTime(label.createdAt),
    updated_at: hookTime(label.createdAt),
    template: false,
    description: null,
    type: "ProjectLabel",
    group_id: null,
  };
}
