import type { SensitiveKind } from "../../core/model/settings.js";
import { syncRequirements } from "../repository/repository-schema.js";
import { listOf, mapOf, pattern, repositoryOfHost, section, textLeaf, Wrong } from "../schema-parts.js";

const KIND = /^[A-Z][A-Za-z0-9]{0,62}(?:\.[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?)?$/;
const LABEL = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,315}(?:=[A-Za-z0-9._-]{0,63})?$/;

/** `sync_requirements` of the server's file. */
export function requiredAtLeast() {
  return syncRequirements()
    .prefault([])
    .describe(
      "what single applications require at least, whichever repository deploys them: a repository's file may require more, and lifts nothing of it. With both hosts configured, people and teams have the host's prefix, as in `github:ana`",
    );
}

/** A name of Kubernetes, of which an AppProject's resource has one. */
const PROJECT = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/** `projects`. Only the server's file has it: it limits what the writers of repositories can do. */
export function projects() {
  const project = section({
    repositories: listOf(repositoryOfHost(), 1000).describe(
      "repositories whose pull requests may introduce applications into this AppProject, or move them there; an empty list: none",
    ),
  });
  return mapOf("AppProject", PROJECT, project)
    .prefault({})
    .describe(
      "who may introduce applications into an AppProject: `github:acme/deploy`, `gitlab:acme/*` or a repository's address, as in `application_repositories`. A project that is not listed is open to every repository",
    );
}

/** `sensitive_kinds`. Only the server's file has it: it limits what the writers of repositories can do. */
export function sensitiveKinds() {
  const entry = section({
    kind: textLeaf("a kind with its group, such as AppProject.argoproj.io or Secret", (value) =>
      KIND.test(value) ? value : new Wrong(),
    )
      .meta({ title: "`<Kind>.<group>`", type: "string", pattern: KIND.source })
      .describe("the kind, and its API group after a dot; without one that of Kubernetes' core"),
    name: pattern().optional().describe("only objects of this name"),
    label: textLeaf("a label as `<key>` or `<key>=<value>`", (value) => (LABEL.test(value) ? value : new Wrong()))
      .meta({ title: "label", type: "string", pattern: LABEL.source })
      .optional()
      .describe("only objects with this label on either side, as `<key>` or `<key>=<value>`"),
  });
  return listOf(entry, 200)
    .optional()
    .describe(
      "kinds of objects that set limits or grant rights: whoever creates or changes one needs an approval, whatever other rules say. The list replaces the default, which `svc.example.yaml` shows; `[]`: none",
    );
}

const RIGHTS = ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
const ADMISSION = [
  "MutatingAdmissionPolicy",
  "MutatingAdmissionPolicyBinding",
  "MutatingWebhookConfiguration",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "ValidatingWebhookConfiguration",
];
/** https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#quick-reference */
const ARGO_CD_CONFIG =
  "{argocd-cm,argocd-cmd-params-cm,argocd-gpg-keys-cm,argocd-rbac-cm,argocd-ssh-known-hosts-cm,argocd-tls-certs-cm}";

/** Argo CD's limits and credentials, Kubernetes' roles, and what admits objects. */
export const DEFAULT_SENSITIVE_KINDS: readonly SensitiveKind[] = [
  { kind: "AppProject.argoproj.io" },
  { kind: "ConfigMap", name: ARGO_CD_CONFIG },
  { kind: "Secret", name: "argocd-secret" },
  { kind: "Secret", label: "argocd.argoproj.io/secret-type" },
  ...RIGHTS.map((kind) => ({ kind: `${kind}.rbac.authorization.k8s.io` })),
  ...ADMISSION.map((kind) => ({ kind: `${kind}.admissionregistration.k8s.io` })),
];
