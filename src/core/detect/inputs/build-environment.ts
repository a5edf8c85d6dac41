import type { Application } from "../../model/application.js";
import { isJsonObject, type Json } from "../../model/json.js";

/** Values of `$NAME` and `${NAME}` in paths of value files, as far as they are known before rendering. */
export type BuildEnvironment = ReadonlyMap<string, string>;

/** `<name>`, or `<namespace>_<name>` outside Argo CD's own namespace: `ARGOCD_APP_NAME`. */
export function instanceNameOf(application: Pick<Application, "name">): string {
  return application.name.replace("/", "_");
}

/**
 * The variables that depend on the definition only, and not on a revision.
 * https://argo-cd.readthedocs.io/en/stable/user-guide/build-environment/
 */
export function buildEnvironment(
  application: Pick<Application, "name" | "spec">,
  sourcePath: string,
): BuildEnvironment {
  const { destination, project } = application.spec;
  return new Map([
    ["ARGOCD_APP_NAME", instanceNameOf(application)],
    ["ARGOCD_APP_NAMESPACE", isJsonObject(destination) ? textOf(destination.namespace) : ""],
    ["ARGOCD_APP_PROJECT_NAME", textOf(project) || "default"],
    ["ARGOCD_APP_SOURCE_PATH", sourcePath],
  ]);
}

/** Undefined if the text names an unknown variable. */
export function substitute(text: string, environment: BuildEnvironment): string | undefined {
  const unknown: string[] = [];
  const substituted = text.replace(/\$(?:\{([^}]*)\}|(\w+)|.?)/gs, (whole, braced?: string, plain?: string) => {
    if (whole === "$$") return "$";
    const value = environment.get(braced ?? plain ?? "");
    if (value === undefined) unknown.push(whole);
    return value ?? "";
  });
  return unknown.length === 0 ? substituted : undefined;
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}
