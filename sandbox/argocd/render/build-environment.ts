import type { Source } from "../resource.js";

/** The application that is rendered: the values behind `$ARGOCD_APP_…`. */
export interface Rendered {
  /** `name`, or `<namespace>_<name>` outside the control-plane namespace. */
  readonly instance: string;
  readonly name: string;
  /** The destination's namespace. */
  readonly namespace: string;
  readonly project: string;
}

/** https://argo-cd.readthedocs.io/en/release-3.1/user-guide/build-environment/ */
export function buildEnvironment(rendered: Rendered, source: Source, revision: string): ReadonlyMap<string, string> {
  return new Map([
    ["ARGOCD_APP_NAME", rendered.instance],
    ["ARGOCD_APP_NAMESPACE", rendered.namespace],
    ["ARGOCD_APP_PROJECT_NAME", rendered.project],
    ["ARGOCD_APP_REVISION", revision],
    ["ARGOCD_APP_REVISION_SHORT", revision.slice(0, 7)],
    ["ARGOCD_APP_REVISION_SHORT_8", revision.slice(0, 8)],
    ["ARGOCD_APP_SOURCE_PATH", source.path ?? ""],
    ["ARGOCD_APP_SOURCE_REPO_URL", source.repoURL],
    ["ARGOCD_APP_SOURCE_TARGET_REVISION", source.targetRevision ?? ""],
  ]);
}

/** Replaces `$NAME` and `${NAME}`; unknown names become empty, `$$` is a dollar sign. */
export function substitute(text: string, environment: ReadonlyMap<string, string>): string {
  return text.replace(/\$(?:\$|\{(\w+)\}|(\w+))/g, (whole, braced?: string, plain?: string) =>
    whole === "$$" ? "$" : (environment.get(braced ?? plain ?? "") ?? ""),
  );
}
