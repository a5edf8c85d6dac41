import { REPOSITORY, type Bot } from "./bot.js";
import { applicationResource, asYaml } from "./resources.js";

export interface SetOptions {
  /** Go template of what comes after `shop-` in the applications' names. */
  readonly name?: string;
  /** Go template of the sources' path. */
  readonly path?: string;
  readonly namespace?: string;
  readonly project?: string;
  readonly syncPolicy?: object;
  readonly goTemplateOptions?: readonly string[];
  /** More members of the template's metadata. */
  readonly metadata?: object;
  /** More members of the template's spec; replaces those above. */
  readonly spec?: object;
  readonly templatePatch?: string;
}

/** The text of an ApplicationSet `shops` that makes an application `shop-<name>` of whatever its generator gives. */
export function shops(repoURL: string, generator: object, options: SetOptions = {}): string {
  return asYaml(shopsResource(repoURL, generator, options));
}

export function shopsResource(repoURL: string, generator: object, options: SetOptions = {}): object {
  const {
    name = "{{ .name }}",
    namespace,
    project = "default",
    syncPolicy,
    goTemplateOptions,
    metadata,
    spec,
    templatePatch,
  } = options;
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "ApplicationSet",
    metadata: { name: "shops", ...(namespace === undefined ? {} : { namespace }) },
    spec: {
      goTemplate: true,
      ...(goTemplateOptions === undefined ? {} : { goTemplateOptions }),
      generators: [generator],
      ...(syncPolicy === undefined ? {} : { syncPolicy }),
      template: {
        metadata: { name: `shop-${name}`, ...metadata },
        spec: {
          project,
          source: { repoURL, targetRevision: "main", path: options.path ?? `shops/${name}` },
          destination: { server: "https://kubernetes.default.svc", namespace: "guestbook" },
          ...spec,
        },
      },
      ...(templatePatch === undefined ? {} : { templatePatch }),
    },
  };
}

/** A list generator with a `name` each. */
export const names = (...all: readonly string[]) => ({ list: { elements: all.map((name) => ({ name })) } });

/** A git generator of the scenario's repository. */
export const git = (repoURL: string, more: object) => ({ git: { repoURL, revision: "main", ...more } });

const OWNER = { apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet", name: "shops", uid: "1", controller: true };

/** An Application as the set's controller has made it: `shop-<name>`, by default of the folder `shops/<name>`. */
export function generatedApplication(
  name: string,
  options: { readonly repoURL: string; readonly path?: string; readonly namespace?: string; readonly spec?: object },
): object {
  const { namespace } = options;
  const resource = applicationResource(`shop-${name}`, { path: `shops/${name}`, ...options });
  return {
    ...resource,
    metadata: { name: `shop-${name}`, ...(namespace === undefined ? {} : { namespace }), ownerReferences: [OWNER] },
  };
}

/** Lets Argo CD run the set and the applications that it has made of the repository's folders. */
export function runsShops({ argocd }: Pick<Bot, "argocd">, set: object, applications: readonly object[]): void {
  argocd.addApplicationSet(set);
  for (const application of applications) argocd.addApplication(application);
}

export const cloneUrlOf = (forge: Pick<Bot["forge"], "cloneUrl">): string => forge.cloneUrl(REPOSITORY);
